package postgres

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/lockgw/lockgw/backend/sqltable"
)

const (
	defaultSchema = "lockgw"
	example       = "postgres://user@host:5432/database?sslmode=verify-full"
)

// parameters that an address may have. Whatever else there is would be sent to the server
// as a setting, and a word that is misspelt with it.
var parameters = []string{
	"sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslsni", "sslnegotiation", "channel_binding", "require_auth",
	"passfile", "connect_timeout", "target_session_attrs", "application_name", "krbsrvname", "krbspn",
	"schema", "pool_max_conns",
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,63}$`)

// address is what a postgres:// URL says.
type address struct {
	server *server
	conns  int
	schema string
}

// CheckURL says what is wrong with a postgres:// URL. The error does not repeat it.
func CheckURL(raw string) error {
	_, err := parseAddress(raw)
	return err
}

// parseAddress reads
//
//	postgres://[user[:password]@]host[:5432][,host[:5432]...]/database[?parameters]
//
// The parameters are those of libpq that name no setting of the server, and schema.
func parseAddress(raw string) (address, error) {
	a := address{schema: defaultSchema}
	if !strings.HasPrefix(raw, "postgres://") && !strings.HasPrefix(raw, "postgresql://") {
		// libpq's host=h password=p would be taken in part: another server is asked, and the password shown.
		return a, errors.New("postgres address: does not begin with postgres://; write it like " + example)
	}
	base, query, _ := strings.Cut(raw, "?")
	q, err := sqltable.ParseParameters("postgres", query, parameters)
	if err != nil {
		return a, err
	}
	if s := q.Get("schema"); s != "" {
		a.schema = s
	}
	if !plainName.MatchString(a.schema) {
		return a, errors.New("postgres address: schema has to be of letters, digits, _ and -, 63 at most")
	}
	if a.conns, err = q.Conns(); err != nil {
		return a, err
	}
	q.Del("schema")
	q.Del("pool_max_conns")
	for name, usual := range map[string]string{
		"target_session_attrs": "read-write", // whatever else: a standby takes no locks
		"connect_timeout":      fmt.Sprint(int(sqltable.ConnectTimeout.Seconds())),
		"application_name":     "lockgw",
		"client_encoding":      "UTF8", // the server may be set up to another one, for a user alone
	} {
		if q.Get(name) == "" {
			q.Set(name, usual)
		}
	}
	a.server, err = newServer(base+"?"+q.Encode(), q)
	return a, err
}

// parseListen is where messages are heard. If it names no user, that of the URL counts, with
// its password.
func parseListen(cfg Config, a address) (*server, error) {
	if cfg.ListenURL == "" {
		return &server{a.server.Copy(), a.server.files, a.server.password}, nil
	}
	direct, err := parseAddress(cfg.ListenURL)
	if err != nil {
		return nil, fmt.Errorf("listen_url: %w", err)
	}
	c, of := direct.server, a.server
	if base, _, _ := strings.Cut(cfg.ListenURL, "?"); !strings.Contains(base, "@") {
		c.User, c.Password, c.password = of.User, of.Password, of.passwords()
	}
	return c, nil
}

// CheckListenURL says what is wrong with the address by which messages are heard; "" is none.
func CheckListenURL(raw string) error {
	if raw == "" {
		return nil
	}
	return CheckURL(raw)
}
