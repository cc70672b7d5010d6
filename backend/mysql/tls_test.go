package mysql

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	ca, key := servertest.Certificate(t)
	s.Stop()
	s.Set("--ssl-cert="+ca, "--ssl-key="+key)
	s.Launch()
	sql(t, s, "CREATE USER tls@'%' IDENTIFIED BY 'x' REQUIRE SSL", "GRANT ALL ON locks.* TO tls@'%'")
	at := func(more string) string { return "mysql://tls:x@" + s.Addr + "/locks?ssl-mode=" + more }
	for mode, node := range map[string]string{"verify_identity": "a", "verify_ca": "b"} {
		sqltest.Held(t, open(t, at(mode+"&ssl-ca="+ca), node), node)
	}
	sqltest.Held(t, open(t, at("preferred"), "c"), "c")
	sqltest.Wrong(t, open(t, at("disabled"), "d"), "ssl-mode")
	other, _ := servertest.Certificate(t)
	sqltest.Wrong(t, open(t, at("verify_identity&ssl-ca="+other), "e"), "certificate")
	sqltest.Wrong(t, open(t, at("verify_ca&ssl-ca="+other), "f"), "certificate")
	sqltest.Wrong(t, open(t, strings.Replace(at("verify_identity&ssl-ca="+ca), "127.0.0.1", "localhost", 1), "g"), "certificate")
}

// Files that are replaced count for the next connection, and until all of them are, those of before.
func TestFilesAreReplaced(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	sql(t, s, "CREATE USER tls@'%' IDENTIFIED BY 'x' REQUIRE X509", "GRANT ALL ON locks.* TO tls@'%'")
	cert, key := servertest.Certificate(t)
	s.Set("--ssl-cert="+cert, "--ssl-key="+key, "--ssl-ca="+cert)
	for _, mode := range []string{"verify_identity", "verify_ca"} {
		own, ownKey := servertest.Certificate(t)
		shows := func(fromCert, fromKey string) {
			t.Helper()
			s.Stop()
			servertest.Replace(t, cert, fromCert)
			servertest.Replace(t, key, fromKey)
			s.Launch()
		}
		shows(own, ownKey)
		a := open(t, "mysql://tls:x@"+s.Addr+"/locks?ssl-mode="+mode+"&ssl-ca="+own+"&ssl-cert="+own+"&ssl-key="+ownKey, mode)
		sqltest.Held(t, a, mode+"-1")

		next, nextKey := servertest.Certificate(t)
		servertest.Replace(t, own, next)
		s.Restart()
		sqltest.Held(t, a, mode+"-2")
		servertest.Replace(t, ownKey, nextKey)
		shows(next, nextKey)
		sqltest.Held(t, a, mode+"-3")
	}
}
