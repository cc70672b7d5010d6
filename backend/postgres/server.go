package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend/dialer"
	"github.com/lockgw/lockgw/backend/eager"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// server is where connections lead to.
type server struct {
	*pgconn.Config
	// files has what the files for TLS say: the library reads them with the address, and knows which
	// there are, as some are named by the environment or lie in the home directory.
	files *dialer.Renewed[*pgconn.Config]
	// password says which one belongs to the user now; nil: the one that files have.
	password func() string
}

// newServer reads an address that has only what the library knows, with q as its parameters.
func newServer(raw string, q sqltable.Parameters) (*server, error) {
	known := false
	files, err := dialer.Renew(func() (*pgconn.Config, error) {
		if err := haveEnd(q); err != nil {
			return nil, err
		}
		c, err := pgconn.ParseConfig(raw)
		switch {
		case err != nil:
			return nil, unparsed(err)
		case known && c.Password == "": // the library says nothing of a file that it cannot read
			return nil, errors.New("passfile: it cannot be read any more, or has no line for this host, database and user")
		}
		known = c.Password != ""
		return c, nil
	})
	if err != nil {
		return nil, err
	}
	s := &server{Config: files.Now().Copy(), files: files}
	s.DialFunc = eager.Dial(dialer.New(sqltable.ConnectTimeout).DialContext)
	return s, nil
}

// connect makes a connection with what is in the files now.
func (s *server) connect(ctx context.Context) (*pgconn.PgConn, error) {
	return pgconn.ConnectConfig(ctx, s.now())
}

// now has the password and TLS as the files are. All else stays as it was read at the start, and so does TLS where
// the files now say something else than what it is made of.
func (s *server) now() *pgconn.Config {
	c := s.Copy()
	encrypted := func(f *pgconn.FallbackConfig) bool { return f.TLSConfig != nil }
	secured := c.TLSConfig != nil || slices.ContainsFunc(c.Fallbacks, encrypted)
	of := s.Config
	if secured || s.password == nil { // they are read at once
		of = s.files.Now()
	}
	if s.password == nil {
		c.Password = cmp.Or(of.Password, c.Password)
	} else {
		c.Password = dialer.Password(s.password, c.Password)
	}
	if !secured {
		return c
	}
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

// passwords says which one belongs to the user now, to a server that is not this one.
func (s *server) passwords() func() string {
	if s.password != nil {
		return s.password
	}
	return func() string { return s.files.Now().Password }
}

// haveEnd says which file of q cannot be read. The library would wait for the end of a pipe, and what
// came through one cannot be read again.
func haveEnd(q sqltable.Parameters) error {
	for _, name := range []string{"passfile", "sslrootcert", "sslcert", "sslkey"} {
		path := cmp.Or(q.Get(name), os.Getenv("PG"+strings.ToUpper(name)))
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && path != os.DevNull {
			return fmt.Errorf("postgres address: %s: %s is no plain file, which it has to be: it is read again for each connection", name, path)
		}
	}
	return nil
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
