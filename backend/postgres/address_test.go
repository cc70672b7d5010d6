package postgres

import (
	"strings"
	"testing"
)

func TestCheckURL(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"postgres://u:p@h/db", ""},
		{"postgresql://u@h:6432,h2:5432/db?sslmode=verify-full&schema=locks&connect_timeout=1", ""},
		{"host=h user=u password=geheim dbname=db", "does not begin with postgres://"},
		{"u:geheim@h/db", "does not begin with postgres://"},
		{"u:geheim @h/db", "does not begin with postgres://"},
		{"redis://u:geheim@h/0", "does not begin with postgres://"},
		{"postgres:///db?host=/run/postgresql", `unknown parameter "host"`},
		{"postgres://u:geheim@h/db?sslmod=require", `unknown parameter "sslmod"; there are sslmode, `},
		{"postgres://u:geheim@h/db?statement_timeout=1", "unknown parameter"},
		{"postgres://u:geheim@h/db?schema=a.b", "schema has to be"},
		{"postgres://u:geheim@h/db?schema=a'b", "schema has to be"},
		{"postgres://u:geheim@h/db?sslmode=maybe", "sslmode"},
		{"postgres://u:geheim@h/db?sslrootcert=/nowhere/ca.pem&sslmode=verify-full", "/nowhere/ca.pem"},
		{"postgres://u:geheim@h:x/db", "port"},
		{"postgres://u:geheim@h/db?schema=%zz", "percent-encoded"},
		{"postgres://u:ge/heim@h/db", "port"},
	} {
		err := CheckURL(tt.url)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.url, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: err = %v, want one with %q", tt.url, err, tt.want)
		case err != nil && (strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "heim")):
			t.Errorf("%s: the password is in the error %v", tt.url, err)
		}
	}
}
