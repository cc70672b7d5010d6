package postgres

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend"
)

func TestOutcome(t *testing.T) {
	code := func(c string) error { return &pgconn.PgError{Severity: "ERROR", Message: "m", Code: c} }
	for _, tt := range []struct{ err, want error }{
		{nil, nil},
		{code("25006"), backend.ErrRefused},
		{code("40001"), backend.ErrRefused},
		{code("40P01"), backend.ErrRefused},
		{code("53100"), backend.ErrRefused},
		{code("22P05"), backend.ErrRefused},
		{code("57014"), backend.ErrRefused},
		{code("57P01"), backend.ErrUnavailable}, // the server may have committed before
		{code("57P02"), backend.ErrUnavailable},
		{code("08006"), backend.ErrUnavailable},
		{code("40003"), backend.ErrUnavailable},
		{code("XX000"), backend.ErrUnavailable},
		{&pgconn.PgError{Severity: "PANIK", SeverityUnlocalized: "PANIC", Code: "53100"}, backend.ErrUnavailable}, // the log is full: what it has already, it may have of this
		{&pgconn.PgError{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "53200"}, backend.ErrUnavailable},
		{io.ErrUnexpectedEOF, backend.ErrUnavailable},
		{pgconn.ErrConnClosed, backend.ErrUnavailable}, // so pgconn calls one that breaks before the answer
		{context.DeadlineExceeded, backend.ErrUnavailable},
	} {
		got := outcome(tt.err)
		if !errors.Is(got, tt.want) || tt.want != nil && errors.Is(got, backend.ErrRefused) == errors.Is(got, backend.ErrUnavailable) {
			t.Errorf("outcome(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}

// Why no host could be used is told once for each, in one line.
func TestReasons(t *testing.T) {
	err := errors.New("failed to connect to `user=u database=d`:\n\t1.2.3.4:5 (h): dial error: dial tcp 1.2.3.4:5: connect: connection refused\n" +
		"\t1.2.3.4:5 (h): dial error: dial tcp 1.2.3.4:5: connect: connection refused\n\t1.2.3.4:6 (i): dial error: timeout")
	if got, want := reasons(err), "dial tcp 1.2.3.4:5: connect: connection refused; timeout"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
