package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// advice says what to do about an error of the server, by the beginning of its code.
var advice = []struct{ code, text string }{
	{"25006", "this PostgreSQL is a standby or read-only, and takes no locks: name the primary, or all hosts, in backend.url, and see that default_transaction_read_only is off for the user and the database"},
	{"28", "PostgreSQL does not let this user in: check user and password (backend.password_file, passfile) and pg_hba.conf"},
	{"3D000", "there is no such database: make it with CREATE DATABASE, and name it in backend.url"},
	{"42501", "the PostgreSQL user lacks a right: see docs/postgres.md for those that lockgw needs"},
	{"53100", "the disk of PostgreSQL is full: make room there; until then nothing new is granted, and what is held may be lost when its lease is over"},
	{"53200", "PostgreSQL is out of memory"},
	{noneToSpare, noneToSpareWords},
	{"55P03", "somebody has locked the row or the table (LOCK TABLE, ALTER TABLE, VACUUM FULL, a transaction left open: see pg_locks): nothing new is granted before that is over, and what is held may be lost"},
	{"57014", "PostgreSQL was told to cancel the statement: see statement_timeout"},
	{"57P03", "PostgreSQL is starting or stopping: try again soon"},
	{"42P10", "the tables of lockgw have no primary key: if no dump is being read in now, one was read in only in part; read it in again while no gateway runs"},
	{"42P01", "the tables of lockgw are not there: they are made by the next request"},
	{"3F000", "the schema of lockgw is not there: it is made by the next request"},
}

// notSent turns the error of getting a connection into one of package backend.
func notSent(err error) error {
	var server *pgconn.PgError
	switch {
	case errors.Is(err, backend.ErrRefused):
		return err
	case errors.As(err, &server):
		return refused(server)
	default:
		return fmt.Errorf("%w: %s", backend.ErrUnreachable, reasons(err))
	}
}

// reasons are why no host could be used, in one line, each once: a host is tried with TLS and
// without.
func reasons(err error) string {
	var all []string
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		if _, rest, ok := strings.Cut(line, "`:"); ok && strings.HasPrefix(line, "failed to connect to `") {
			line = strings.TrimSpace(rest)
		}
		if _, rest, ok := strings.Cut(line, ": dial error: "); ok {
			line = rest
		}
		if line != "" && !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	text := strings.Join(all, "; ")
	if strings.Contains(text, "read only connection") {
		return "every host of backend.url is a standby or read-only, also if default_transaction_read_only is on for the user or the database, and takes no locks (" + text + ")"
	}
	return text
}

// refused: a statement that ends with an error has changed nothing.
func refused(e *pgconn.PgError) error {
	if poolerFull(e) {
		return fmt.Errorf("%w: %s (%w)", backend.ErrRefused, noneToSpareWords, e)
	}
	for _, a := range advice {
		if strings.HasPrefix(e.Code, a.code) {
			return fmt.Errorf("%w: %s (%w)", backend.ErrRefused, a.text, e)
		}
	}
	return fmt.Errorf("%w: %w", backend.ErrRefused, e)
}

// outcome turns the error of a request that was sent into one of package backend. What
// pgconn.SafeToRetry says does not count: a connection that breaks before the answer to a
// batch is reported as one that was closed before.
func outcome(err error) error {
	var server *pgconn.PgError
	switch {
	case err == nil, errors.Is(err, backend.ErrRefused):
		return err
	case errors.As(err, &server) && (unsure(server.Code) || server.SeverityUnlocalized == "PANIC" || server.SeverityUnlocalized == "FATAL"):
		return fmt.Errorf("%w: PostgreSQL broke off: %w", backend.ErrUnavailable, err)
	case errors.As(err, &server):
		return refused(server)
	default:
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
}

// unprepared turns the error of preparing a statement into one of package backend: it was not
// carried out.
func unprepared(err error) error {
	return sqltable.Unsent("PostgreSQL has not prepared the request, which was not sent", outcome(err))
}

// unsure: what became of a transaction is not known after an error of this code: the server
// is stopped or has crashed, the connection broke, or something happened in it that nobody
// has thought of.
func unsure(code string) bool {
	return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "57P") || code == "40003" || strings.HasPrefix(code, "XX")
}

// noneToSpare is the code where no connection more can be made.
const (
	noneToSpare      = "53300"
	noneToSpareWords = "PostgreSQL, or the pooler, has no connection to spare: raise max_connections, the CONNECTION LIMIT of the role or the database, or max_client_conn of PgBouncer, or lower pool_max_conns of backend.url"
)

// poolerFull: e is of a pooler that takes no connection more. PgBouncer has no code of its own for that.
func poolerFull(e *pgconn.PgError) bool {
	return e.Code == "08P01" && strings.Contains(e.Message, "connections")
}

// missing are the codes where the tables are not there.
var missing = []string{"42P01", "3F000"}

func is(err error, codes ...string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && slices.Contains(codes, server.Code)
}

// noticed draws what has to be drawn from an error of a request.
func (t *Table) noticed(err error) error {
	switch {
	case is(err, missing...), is(err, "42703"): // or they are others
		t.PrepareAgain()
	case is(err, "25006"): // it was a primary when the connection was made
		t.Reset()
	}
	return err
}
