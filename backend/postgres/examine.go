package postgres

import (
	"context"
	"crypto/tls"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/selftest"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// page is where people read on.
const page = "docs/postgres.md"

// Examine looks for what is wrong with the database that cfg names, and takes a lock that
// nobody else uses and gives it back. cfg.Node is not used.
func Examine(ctx context.Context, cfg Config) []backend.Finding {
	a, err := parseAddress(cfg.URL)
	if err != nil {
		return []backend.Finding{{Check: "address", Detail: err.Error(), Remedy: "correct backend.url", Fails: true}}
	}
	connecting, cancel := context.WithTimeout(ctx, selftest.ExamineTime)
	defer cancel()
	c, err := a.server.connect(connecting)
	if err == nil {
		defer c.Close(context.WithoutCancel(ctx))
		err = serves(c)
	}
	if err != nil {
		return []backend.Finding{selftest.Failure("connection", notSent(err), page)}
	}
	found := []backend.Finding{connection(c, a.server.Config)}
	found = append(found, settings(ctx, c)...)
	return append(found, lock(ctx, cfg)...)
}

func connection(c *pgconn.PgConn, cfg *pgconn.Config) backend.Finding {
	f := backend.Finding{Check: "connection", Detail: fmt.Sprintf("PostgreSQL %s at %s, database %s, user %s", c.ParameterStatus("server_version"), c.Conn().RemoteAddr(), cfg.Database, cfg.User)}
	if _, ok := c.Conn().(*tls.Conn); ok {
		f.Detail += ", over TLS"
	}
	return f
}

// settings are those by which a crash may lose more than it has to, and others' messages.
func settings(ctx context.Context, c *pgconn.PgConn) (found []backend.Finding) {
	ctx, cancel := context.WithTimeout(ctx, selftest.ExamineTime)
	defer cancel()
	const sql = "SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), pg_notification_queue_usage()"
	got := c.ExecParams(ctx, sql, nil, nil, nil, nil).Read()
	if got.Err != nil || len(got.Rows) != 1 {
		return []backend.Finding{selftest.Failure("settings", outcome(got.Err), page)}
	}
	r := sqltable.NewReader(got.Rows[0])
	fsync, commit, standbys, queue := r.Text(), r.Text(), r.Text(), r.Float()
	f := backend.Finding{Check: "durability", Detail: "fsync " + fsync + ", synchronous_commit " + commit}
	if standbys != "" && commit != "off" && commit != "local" {
		f.Detail += ", and each commit waits for standbys: " + standbys
	}
	if fsync == "off" || commit == "off" {
		f.Warned, f.Remedy = true, "set both to on, for the user of lockgw at least: a crash may lose locks that were granted, and backend.postgres.guard has to keep everybody out for a while"
	}
	found = append(found, f)
	f = backend.Finding{Check: "messages", Detail: strconv.FormatFloat(100*queue, 'f', 1, 64) + " % of the queue of NOTIFY is in use"}
	if queue > 0.5 {
		f.Warned, f.Remedy = true, "somebody listens in a transaction that does not end; see pg_stat_activity"
	}
	return append(found, f)
}

// lock takes a lock and gives it back, and looks whether messages arrive.
func lock(ctx context.Context, cfg Config) []backend.Finding {
	t, err := OpenTable(cfg.ForDoctor())
	if err != nil {
		return []backend.Finding{selftest.Failure("lock", err, page)}
	}
	defer t.Close()
	return t.TryLock(ctx, page)
}
