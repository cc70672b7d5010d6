package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/lockgw/lockgw/backend"
)

func TestOutcome(t *testing.T) {
	number := func(n uint16) error { return &mysql.MySQLError{Number: n, Message: "m"} }
	for _, tt := range []struct{ err, want error }{
		{nil, nil},
		{number(1290), backend.ErrRefused},
		{number(1213), backend.ErrRefused},
		{number(1205), backend.ErrRefused},
		{number(1317), backend.ErrRefused}, // rolled back
		{number(1114), backend.ErrRefused},
		{number(1064), backend.ErrRefused},
		{number(1053), backend.ErrUnavailable}, // the server may have committed before
		{number(1180), backend.ErrUnavailable},
		{number(1026), backend.ErrUnavailable}, // the log may have it
		{number(1598), backend.ErrUnavailable},
		{number(1927), backend.ErrUnavailable},
		{driver.ErrBadConn, backend.ErrRefused},
		{mysql.ErrInvalidConn, backend.ErrUnavailable},
		{io.ErrUnexpectedEOF, backend.ErrUnavailable},
		{context.DeadlineExceeded, backend.ErrUnavailable},
	} {
		got := outcome(tt.err)
		if !errors.Is(got, tt.want) || tt.want != nil && errors.Is(got, backend.ErrRefused) == errors.Is(got, backend.ErrUnavailable) {
			t.Errorf("outcome(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}

// Which servers are refused, and with what remedy.
func TestServes(t *testing.T) {
	for _, tt := range []struct {
		version   string
		variables map[string]string
		frozen    bool
		offset    int64
		want      string
	}{
		{version: "8.0.11"},
		{version: "9.7.4-2", variables: map[string]string{"group_replication_single_primary_mode": "ON", "read_only": "OFF", "super_read_only": "0"}},
		{version: "10.6.0-MariaDB", variables: map[string]string{"wsrep_on": "ON", "wsrep_cluster_size": "1"}},
		{version: "11.8.2-MariaDB-log", variables: map[string]string{"wsrep_on": "OFF", "wsrep_cluster_size": "3"}},
		{version: "5.7.44", want: "too old"},
		{version: "10.5.29-MariaDB", want: "MariaDB 10.6"},
		{version: "8.4.0", variables: map[string]string{"read_only": "ON"}, want: "replica or read-only"},
		{version: "12.0.1-MariaDB", variables: map[string]string{"read_only": "NO_LOCK"}, want: "replica or read-only"},
		{version: "8.4.0", variables: map[string]string{"super_read_only": "ON"}, want: "replica or read-only"},
		{version: "8.4.0", frozen: true, want: "--sysdate-is-now"},
		{version: "10.11.19-MariaDB", variables: map[string]string{"wsrep_on": "ON", "wsrep_cluster_size": "3"}, want: "one of 3 members of a Galera cluster"},
		{version: "8.4.0", variables: map[string]string{"group_replication_single_primary_mode": "OFF"}, want: "several primaries"},
		{version: "8.4.0", variables: map[string]string{flushAtCommit: "2"}, want: "SET GLOBAL innodb_flush_log_at_trx_commit = 1"},
		{version: "8.4.0", offset: 3600, want: "time zone"},
	} {
		s := server{version: tt.version, frozen: tt.frozen, offset: tt.offset, variables: map[string]string{flushAtCommit: "1"}}
		for k, v := range tt.variables {
			s.variables[k] = v
		}
		err := s.serves()
		if (err == nil) != (tt.want == "") || err != nil && (!errors.Is(err, backend.ErrRefused) || !contains(err, tt.want)) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
