package mysql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockgw/lockgw/backend/dialer"
	"github.com/lockgw/lockgw/backend/eager"
	"github.com/lockgw/lockgw/backend/sqltable"
)

const defaultPort = "3306"

// parameters that an address may have.
var parameters = []string{"ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "socket", "connect-timeout", "pool_max_conns"}

// sslModes are those of MySQL's own clients.
var sslModes = []string{"disabled", "preferred", "required", "verify_ca", "verify_identity"}

const example = "write it like mysql://user@host:3306/database?ssl-mode=verify_identity"

// address is what a mysql:// URL says.
type address struct {
	hosts []*mysql.Config // in the order in which they are tried
	conns int
}

// CheckURL says what is wrong with a mysql:// URL. The error does not repeat it.
func CheckURL(raw string) error {
	_, err := parseAddress(raw, nil)
	return err
}

// parseAddress reads
//
//	mysql://[user[:password]@]host[:3306][,host[:3306]...]/database[?parameters]
//
// password counts before the one of the address, which is that of the start.
func parseAddress(raw string, password func() string) (address, error) {
	var a address
	rest, ok := strings.CutPrefix(raw, "mysql://")
	if !ok {
		return a, errors.New("mysql address: " + example)
	}
	rest, query, _ := strings.Cut(rest, "?")
	q, err := sqltable.ParseParameters("mysql", query, parameters)
	if err != nil {
		return a, err
	}
	slash := strings.LastIndexByte(rest, '/')
	if slash < 0 || rest[slash+1:] == "" {
		return a, errors.New("mysql address: it names no database; " + example)
	}
	hosts, path := rest[:slash], rest[slash+1:]
	base := mysql.NewConfig()
	at := strings.LastIndexByte(hosts, '@')
	if strings.ContainsAny(hosts[:max(at, 0)], "/#") {
		return a, errors.New("mysql address: a / in a user or password is written as %2F, a # as %23; " + example)
	}
	if at >= 0 {
		user, password, _ := strings.Cut(hosts[:at], ":")
		var errs [2]error
		base.User, errs[0] = url.PathUnescape(user)
		base.Passwd, errs[1] = url.PathUnescape(password)
		if errors.Join(errs[:]...) != nil { // whose words quote the password
			return a, errors.New("mysql address: user and password have to be percent-encoded, such as %40 for an @")
		}
		hosts = hosts[at+1:]
	}
	if base.DBName, err = url.PathUnescape(path); err != nil || strings.ContainsAny(base.DBName, "`\x00") || strings.ContainsAny(hosts, "/#@ ") {
		return a, errors.New("mysql address: neither host nor database have an @, a / or a # in them; " + example)
	}
	if a.conns, err = q.Conns(); err != nil {
		return a, err
	}
	return a, a.settings(base, hosts, q, password)
}

// settings makes the configuration of each host of base.
func (a *address) settings(base *mysql.Config, hosts string, q sqltable.Parameters, password func() string) error {
	seconds, err := q.Number("connect-timeout", int(sqltable.ConnectTimeout.Seconds()), 60)
	if err != nil {
		return err
	}
	base.Timeout = time.Duration(seconds) * time.Second
	base.DialFunc = eager.Dial(dialer.New(base.Timeout).DialContext)
	base.InterpolateParams, base.MultiStatements, base.MaxAllowedPacket = true, true, maxPacket
	base.Logger = &mysql.NopLogger{} // what it says is in its errors, too
	base.ConnectionAttributes = "program_name:lockgw"
	if socket := q.Get("socket"); socket != "" {
		if hosts != "" {
			return errors.New("mysql address: a host and a socket; only one of both can count")
		}
		base.Net, base.Addr = "unix", socket
		a.hosts = []*mysql.Config{base}
		return base.Apply(mysql.BeforeConnect(asNow(password, nil)))
	}
	secure, err := secured(q)
	if err != nil {
		return err
	}
	if err := base.Apply(mysql.BeforeConnect(asNow(password, secure))); err != nil {
		return err
	}
	for host := range strings.SplitSeq(hosts, ",") {
		c := base.Clone()
		c.Net = "tcp"
		if c.Addr, err = withPort(host); err != nil {
			return err
		}
		a.hosts = append(a.hosts, c)
	}
	return nil
}

// asNow sets one connection up with the password as it is then, and by secure; nil: without TLS.
func asNow(password func() string, secure func(*mysql.Config)) func(context.Context, *mysql.Config) error {
	return func(_ context.Context, c *mysql.Config) error {
		c.Passwd = dialer.Password(password, c.Passwd)
		if secure != nil {
			secure(c)
		}
		return nil
	}
}

func withPort(host string) (string, error) {
	addr, ok := dialer.HostPort(host, defaultPort)
	if !ok {
		return "", errors.New("mysql address: each host has to be host or host:port, such as db.example.net:3306 or [::1]:3306; " + example)
	}
	return addr, nil
}

// secured reads how connections are encrypted, and returns what sets that up for one connection,
// with what is in the files then; nil: they are not.
func secured(q sqltable.Parameters) (func(*mysql.Config), error) {
	mode := strings.ToLower(q.Get("ssl-mode"))
	if mode == "" {
		mode = "preferred"
		if q.Get("ssl-ca") != "" {
			mode = "verify_identity"
		}
	}
	if !slices.Contains(sslModes, mode) {
		return nil, fmt.Errorf("mysql address: ssl-mode has to be one of %s", strings.Join(sslModes, ", "))
	}
	if mode == "disabled" {
		return nil, nil
	}
	file := func(setting string) dialer.File { return dialer.File{Setting: setting, Path: q.Get(setting)} }
	files, err := dialer.NewTLS(file("ssl-ca"), file("ssl-cert"), file("ssl-key"))
	if err != nil {
		return nil, fmt.Errorf("mysql address: %w", err)
	}
	return func(c *mysql.Config) {
		t := files.Config()
		t.ServerName, _, _ = net.SplitHostPort(c.Addr)
		switch mode {
		case "preferred":
			c.AllowFallbackToPlaintext, t.InsecureSkipVerify = true, true
		case "required":
			t.InsecureSkipVerify = true
		case "verify_ca":
			t.InsecureSkipVerify, t.VerifyConnection = true, anyNameOf(t.RootCAs)
		}
		c.TLS = t
	}, nil
}

// anyNameOf checks a certificate against roots, and not whom it is of.
func anyNameOf(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, c := range s.PeerCertificates[1:] {
			o.Intermediates.AddCert(c)
		}
		_, err := s.PeerCertificates[0].Verify(o)
		return err
	}
}
