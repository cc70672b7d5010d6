// Package postgres keeps locks in a PostgreSQL database.
//
// Each name is a row of one table: the record of package ledger as jsonb, a version, and
// beside these, as three arrays, the holds with their ends. A write is one statement in a
// transaction of its own. Its WHERE compares the version and, by the clock of the database,
// that the holds which the write ends are over; if nothing was written, another statement asks
// what is there. The clock is clock_timestamp() in every place: now() is when the
// transaction began, and a statement may have waited for a lock since.
//
// The ends stand beside the record because a renewal changes nothing else, and no version.
// One statement renews many of them. A row of each node that all of its leases follow would
// make a renewal cheaper, and the statements that take over a hold would have to write that
// row, too, lest a renewal that is judged before the end and committed after it be missed.
// With an end in each row PostgreSQL orders the two by the lock of the row: whichever comes
// second looks at what the first has left. And each renewal is answered for itself.
//
// What grants a lease or renews it is written as durably as the server is set up to. What
// only queues, offers or gives back is committed with synchronous_commit=off: if a crash
// loses that, a lock is held until who waits for it has told its node, or its lease is over,
// and no write that grants comes before one that it was computed from. A message to a node is
// a NOTIFY on a channel of its own, never in a transaction that has to reach the disk:
// PostgreSQL has one such transaction after the other, for all databases of the server.
//
// A server that was restarted, has taken over from another one or was restored from a copy
// may have forgotten who holds what; see trust.go.
package postgres

import "github.com/lockgw/lockgw/backend/sqltable"

// Config of a Table. URL is a postgres:// one.
type Config = sqltable.Config

// product is what people know the database as.
const product = "PostgreSQL"
