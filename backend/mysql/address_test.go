package mysql

import (
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/lockgw/lockgw/backend/sqltable"
)

func TestCheckURL(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"mysql://u:p@h/db", ""},
		{"mysql://u@h:3307,[::1]:3306,h2/db?ssl-mode=verify_identity&connect-timeout=1&pool_max_conns=2", ""},
		{"mysql://u:ge%2Fheim%40@h/db", ""},
		{"mysql://u@/db?socket=/run/mysqld/mysqld.sock", ""},
		{"mysql://u:geheim@h/db?socket=/run/mysqld/mysqld.sock", "only one of both"},
		{"mysql://u:geheim@h", "no database"},
		{"mysql://u:geheim@h/", "no database"},
		{"mysql://u:geheim@/db", "each host"},
		{"mysql://u:geheim@h:x/db", "each host"},
		{"mysql://u:geheim@fd00::1/db", "each host"},
		{"mysql://u:geheim@h:0/db", "each host"},
		{"mysql://u:geheim@h,/db", "each host"},
		{"mysql://u:ge/heim@h/db", "%2F"},
		{"mysql://u:geheim%zz@h/db", "percent-encoded"},
		{"mysql://u:geheim@h/db?ssl-mod=required", `unknown parameter "ssl-mod"; there are ssl-mode, `},
		{"mysql://u:geheim@h/db?ssl-mode=maybe", "ssl-mode has to be one of disabled, preferred"},
		{"mysql://u:geheim@h/db?ssl-ca=/nowhere/ca.pem", "/nowhere/ca.pem"},
		{"mysql://u:geheim@h/db?ssl-cert=/nowhere/c.pem", "/nowhere/c.pem"},
		{"mysql://u:geheim@h/db?pool_max_conns=0", "from 1 to 1000"},
		{"mysql://u:geheim@h/db?connect-timeout=1h", "from 1 to 60"},
		{"mysql://u:geheim@h/db?%zz", "percent-encoded"},
		{"mysql:u:geheim@h/db", "write it like"},
	} {
		err := CheckURL(tt.url)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.url, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: err = %v, want one with %q", tt.url, err, tt.want)
		case err != nil && strings.Contains(err.Error(), "heim"):
			t.Errorf("%s: the password is in the error %v", tt.url, err)
		}
	}
}

// What an address says of the encryption is what the driver does.
func TestEncryption(t *testing.T) {
	for mode, want := range map[string]struct{ off, unchecked, fallsBack bool }{
		"":                {unchecked: true, fallsBack: true},
		"disabled":        {off: true},
		"required":        {unchecked: true},
		"VERIFY_IDENTITY": {},
	} {
		secure, err := secured(sqltable.Parameters{Values: url.Values{"ssl-mode": {mode}}})
		if err != nil {
			t.Fatal(err)
		}
		if want.off {
			if secure != nil {
				t.Errorf("%q: encrypted", mode)
			}
			continue
		}
		c := &mysql.Config{Addr: "h:3306"}
		secure(c)
		if c.AllowFallbackToPlaintext != want.fallsBack || c.TLS.InsecureSkipVerify != want.unchecked || c.TLS.ServerName != "h" {
			t.Errorf("%q: TLS %+v, falls back %v", mode, c.TLS, c.AllowFallbackToPlaintext)
		}
	}
}
