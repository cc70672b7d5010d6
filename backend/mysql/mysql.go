// Package mysql keeps locks in a MySQL or MariaDB database.
//
// Each name is a row of one table: the record of package ledger as JSON, a version, and beside
// these the holds with their ends. A write is one UPDATE by primary key, in a transaction of
// its own. Its WHERE compares the version and, by the clock of the server, that the holds
// which the write ends are over. The clock is SYSDATE(6) in every place: NOW(6) is when the
// statement began, and it may have waited for the row since. A write that nobody was beaten to
// learns the time from the answer itself, by LAST_INSERT_ID(time).
//
// The ends stand beside the record because a renewal changes nothing else, and no version. They
// are a text of fixed width (see ends.go), so that one statement renews the leases of many
// rows, and each is renewed only if it is still there.
//
// Neither server wakes a client that waits. So a gateway has a connection on which it sleeps in
// the database, SELECT GET_LOCK(...), for as long as there is no mail for it; whoever has written
// mail, in the transaction of what it is about, ends that statement by KILL QUERY, for which
// nobody needs a right who is the same user. See sleep.go.
//
// Which server has answered is settled for each connection when it is made, and each write
// compares it: a connection cannot outlive a server, and what a proxy sends to another one is
// not carried out. A server that was started anew, or has taken over from another one, may have
// forgotten who holds what; see trust.go.
package mysql

import "github.com/lockgw/lockgw/backend/sqltable"

// Config of a Table. URL is a mysql:// one.
type Config = sqltable.Config

// product is what people know the database as; a MariaDB says what it is where that matters.
const product = "MySQL"
