package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// advice says what to do about an error of the server.
var advice = []struct {
	numbers []uint16
	text    string
}{
	{readOnlyErrors, readOnlyWords},
	{[]uint16{1045, 1698, 1862}, "the server does not let this user in: check user and password (backend.password_file), from which host it may come, and ssl-mode"},
	{[]uint16{3118, 4151}, "the account of this user is locked: ALTER USER ... ACCOUNT UNLOCK"},
	{[]uint16{1130}, "the server does not let this machine in: GRANT the user from this host"},
	{[]uint16{3159}, "the server wants TLS: set ssl-mode=verify_identity in backend.url"},
	{[]uint16{1044, 1142, 1143, 1227}, "the user lacks a right: see docs/mysql.md for those that lockgw needs"},
	{[]uint16{1049}, "there is no such database: make it with CREATE DATABASE, and name it in backend.url"},
	{noneToSpare, "the server has no connection to spare: raise max_connections or the user's limit, or lower pool_max_conns of backend.url"},
	{[]uint16{1021, 1114}, fullWords},
	{[]uint16{1037, 1038, 1041}, "the server is out of memory"},
	{[]uint16{1205, 3572}, "somebody has locked the row, the table or all tables (FLUSH TABLES WITH READ LOCK, LOCK TABLES, perhaps for a backup): nothing new is granted before that is over, and what is held may be lost"},
	{[]uint16{1317, 1969, 3024}, "the server was told to end the statement"},
	{[]uint16{1665}, "the binary log of the server is kept by statement, which it does not do with READ COMMITTED: set binlog_format = ROW or MIXED"},
	{[]uint16{1047}, "this member of a Galera cluster does not serve now: it is not part of a majority, or has yet to be brought up to date"},
	{[]uint16{missing, 1054}, "the tables of lockgw are not there, or not as they were: they are made by the next request"},
}

var readOnlyErrors = []uint16{1290, 1792, 1836, 1874, 3100}

var errReadOnly = fmt.Errorf("%w: %s", backend.ErrRefused, readOnlyWords)

// noneToSpare are errors where no connection more can be made.
var noneToSpare = []uint16{1040, 1203, 1226}

// missing is the error where a table is not there.
const missing = 1146

// races are errors of a statement that was rolled back because another one was before it.
var races = []uint16{1020, 1213, 3101}

func is(err error, numbers ...uint16) bool {
	var server *mysql.MySQLError
	return errors.As(err, &server) && slices.Contains(numbers, server.Number)
}

// raced: nothing was changed, and it may be tried again at once.
func raced(err error) bool { return is(err, races...) }

// notSent turns the error of getting a connection into one of package backend.
func notSent(err error) error {
	var server *mysql.MySQLError
	switch {
	case errors.Is(err, backend.ErrRefused), errors.Is(err, backend.ErrInvalid):
		return err
	case errors.As(err, &server):
		return refused(server)
	case errors.Is(err, mysql.ErrNoTLS):
		return fmt.Errorf("%w: the server has no TLS, which ssl-mode of backend.url asks for", backend.ErrRefused)
	default:
		return fmt.Errorf("%w: %s", backend.ErrUnreachable, strings.Join(strings.Fields(err.Error()), " ")) // in one line
	}
}

// refused: a statement that ends with an error has changed nothing.
func refused(e *mysql.MySQLError) error {
	for _, a := range advice {
		if is(e, a.numbers...) {
			return fmt.Errorf("%w: %s (%w)", backend.ErrRefused, a.text, e)
		}
	}
	return fmt.Errorf("%w: %w", backend.ErrRefused, e)
}

// unsure are errors after which nobody knows what became of a statement: the server stops, the
// connection was ended, the binary log could not be written, or the commit failed.
var unsure = []uint16{1026, 1053, 1077, 1080, 1152, 1158, 1159, 1160, 1161, 1180, 1184, 1598, 1927, 2006, 2013, 3168, 3169, 4031}

// outcome turns the error of a request that was sent into one of package backend.
func outcome(err error) error {
	var server *mysql.MySQLError
	switch {
	case err == nil, errors.Is(err, backend.ErrRefused), errors.Is(err, backend.ErrUnavailable), errors.Is(err, backend.ErrInvalid):
		return err
	case is(err, unsure...):
		return fmt.Errorf("%w: the server broke off: %w", backend.ErrUnavailable, err)
	case errors.As(err, &server):
		return refused(server)
	case errors.Is(err, driver.ErrBadConn):
		return fmt.Errorf("%w: the connection was closed before the request was sent", backend.ErrUnreachable)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: no answer in time: %w", backend.ErrUnavailable, err)
	default:
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
}

// noticed draws what has to be drawn from an error of a request.
func (t *Table) noticed(err error) error {
	err = outcome(err)
	switch {
	case is(err, missing, 1054), errors.Is(err, errPutBack), errors.Is(err, sqltable.ErrNoState): // the tables are gone, or others
		t.PrepareAgain()
	case is(err, readOnlyErrors...), errors.Is(err, errReadOnly): // it took writes when the connection was made
		t.Reset()
	case errors.Is(err, context.DeadlineExceeded) && errors.Is(err, backend.ErrUnavailable):
		backend.Signal(t.disk.asks)
		if t.disk.full.Load() {
			err = fmt.Errorf("%w: %s", backend.ErrUnavailable, waitWords)
		}
	}
	return err
}

// elsewhere is the error, of that kind, of a request whose connection does not lead any more where it
// led. Others may not either; so all are made anew.
func (t *Table) elsewhere(kind error) error {
	t.Reset()
	return fmt.Errorf("%w: %s", kind, anotherServerWords)
}
