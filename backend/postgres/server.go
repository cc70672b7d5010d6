package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend/dialer"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// server is where connections lead to.
type server struct {
	*pgconn.Config
	// files has what the files for TLS say: the library reads them with the address, and knows which
	// there are, as some are named by the environment or lie in the home directory.
	files *dialer.Renewed[*pgconn.Config]
}

// newServer reads an address that has only what the library knows.
func newServer(raw string) (*server, error) {
	files, err := dialer.Renew(func() (*pgconn.Config, error) {
		c, err := pgconn.ParseConfig(raw)
		if err != nil {
			return nil, unparsed(err)
		}
		return c, nil
	})
	if err != nil {
		return nil, err
	}
	s := &server{files.Now().Copy(), files}
	s.DialFunc = dialer.New(sqltable.ConnectTimeout).DialContext
	return s, nil
}

// connect makes a connection with what is in the files now.
func (s *server) connect(ctx context.Context) (*pgconn.PgConn, error) {
	return pgconn.ConnectConfig(ctx, s.now())
}

// now has TLS as the files are. All else stays as it was read at the start, and so does TLS where
// the files now say something else than what it is made of.
func (s *server) now() *pgconn.Config {
	c := s.Copy()
	encrypted := func(f *pgconn.FallbackConfig) bool { return f.TLSConfig != nil }
	if c.TLSConfig == nil && !slices.ContainsFunc(c.Fallbacks, encrypted) {
		return c
	}
	of := s.files.Now()
	same := func(a, b *pgconn.FallbackConfig) bool { return a.Host == b.Host && encrypted(a) == encrypted(b) }
	first := func(c *pgconn.Config) *pgconn.FallbackConfig {
		return &pgconn.FallbackConfig{Host: c.Host, TLSConfig: c.TLSConfig}
	}
	if same(first(c), first(of)) && slices.EqualFunc(c.Fallbacks, of.Fallbacks, same) {
		c.TLSConfig = of.TLSConfig
		for i, f := range of.Fallbacks {
			c.Fallbacks[i].TLSConfig = f.TLSConfig
		}
	}
	return c
}

// unparsed is err without the address, which may have a password in it.
func unparsed(err error) error {
	text := err.Error()
	if pe := (*pgconn.ParseConfigError)(nil); errors.As(err, &pe) {
		text = text[strings.LastIndex(text, "`: ")+1:]
		text = strings.TrimPrefix(text, ": ")
	}
	return fmt.Errorf("postgres address: %s; write it like %s", text, example)
}
