package etcd

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/servertest"
)

// refuses: the store says at once that it cannot be used, and why.
func refuses(t *testing.T, url, want string) {
	t.Helper()
	c := listen(t, url, "refused")
	begin := time.Now()
	_, err := c.Swap(t.Context(), ledger.Swap{Name: "n"})
	if !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sesame") {
		t.Errorf("the error is %v, want a refusal with %q", err, want)
	}
	if answered := strings.Contains(err.Error(), backend.ErrRefused.Error()); answered && errors.Is(err, backend.ErrUnreachable) {
		t.Errorf("of a server that answers is said: %v", err)
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := c.Ping(ctx); err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("ping = %v", err)
	}
}

// withUsers has etcd ask for a user: root, or gate@way with the rights of docs/etcd.md.
func withUsers(t *testing.T, s *etcdtest.Server) {
	t.Helper()
	c, ctx := etcdtest.Client(t, s), t.Context()
	for _, do := range []func() error{
		func() error { _, err := c.UserAdd(ctx, "root", "root"); return err },
		func() error { _, err := c.RoleAdd(ctx, "root"); return err },
		func() error { _, err := c.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := c.RoleAdd(ctx, "lockgw"); return err },
		func() error {
			_, err := c.RoleGrantPermission(ctx, "lockgw", "lockgw/", clientv3.GetPrefixRangeEnd("lockgw/"), clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { _, err := c.UserAdd(ctx, "gate@way", "ses/ame"); return err },
		func() error { _, err := c.UserGrantRole(ctx, "gate@way", "lockgw"); return err },
		func() error { _, err := c.AuthEnable(ctx); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
}

// A user with the rights of docs/etcd.md is enough; without one, with a wrong password, or
// below another prefix, the error says so.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, "--bcrypt-cost", "4", "--auth-token-ttl", "2")
	withUsers(t, s)
	user := "etcd://gate%40way:ses%2Fame@" + s.Addr
	a, b := listen(t, user, "a"), listen(t, user, "b")
	a.TakeFor("n", time.Minute)
	b.Ask("n", ledger.Op{Want: 1})
	a.Hears(ledger.Waits)
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(500 * time.Millisecond) { // tokens end
		a.Ask("m", ledger.Op{Want: 1, Lapse: true})
		a.Ask("m", ledger.Op{Verb: ledger.Leave})
	}
	a.Ask("n", ledger.Op{Verb: ledger.Leave})
	b.Hears(ledger.Look)
	if err := b.Ping(t.Context()); err != nil {
		t.Error(err)
	}

	refuses(t, etcdtest.URL(s), "etcd asks for a user")
	refuses(t, "etcd://gate%40way:sesame@"+s.Addr, "refuses the user or the password")
	refuses(t, user+"/elsewhere", "permission denied")
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := servertest.Certificate(t)
	s := etcdtest.StartTLS(t, cert, key)
	files := url.Values{"tls": {"true"}, "ca_file": {cert}, "cert_file": {cert}, "key_file": {key}}
	listen(t, etcdtest.URL(s)+"?"+files.Encode(), "a").Take("n")

	refuses(t, etcdtest.URL(s)+"?tls=true", "certificate signed by unknown authority")
	other, otherKey := servertest.Certificate(t)
	files.Set("ca_file", other)
	refuses(t, etcdtest.URL(s)+"?"+files.Encode(), "certificate")
	files = url.Values{"tls": {"true"}, "ca_file": {cert}, "cert_file": {other}, "key_file": {otherKey}}
	refuses(t, etcdtest.URL(s)+"?"+files.Encode(), "")
	refuses(t, etcdtest.URL(s), "")
}

// Files that are replaced count for the next connection, and until all of them are, those of before.
func TestFilesAreReplaced(t *testing.T) {
	t.Parallel()
	cert, key := servertest.Certificate(t)
	s := etcdtest.StartTLS(t, cert, key)
	own, ownKey := servertest.Certificate(t)
	servertest.Replace(t, own, cert)
	servertest.Replace(t, ownKey, key)
	files := url.Values{"tls": {"true"}, "ca_file": {own}, "cert_file": {own}, "key_file": {ownKey}}
	a := listen(t, etcdtest.URL(s)+"?"+files.Encode(), "a")
	a.Take("m")

	next, nextKey := servertest.Certificate(t)
	servertest.Replace(t, own, next)
	s.Restart()
	a.Take("n")
	servertest.Replace(t, ownKey, nextKey)
	servertest.Replace(t, cert, next)
	servertest.Replace(t, key, nextKey)
	s.Restart() // and knows the new certificate alone
	a.Take("o")
}

// A password that is changed at etcd and in its file counts for the next login, and what is held stays.
func TestPasswordIsChanged(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, "--bcrypt-cost", "4")
	withUsers(t, s)
	var now atomic.Value
	now.Store("ses/ame")
	table, err := OpenTable(Config{
		URL: "etcd://gate%40way:ses%2Fame@" + s.Addr, Password: func() string { return now.Load().(string) }, Node: backend.Node{ID: "a"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	a := listens(t, table)
	n := a.TakeFor("n", time.Minute)
	root, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + s.Addr}, Username: "root", Password: "root", Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	if _, err := root.UserChangePassword(t.Context(), "gate@way", "other"); err != nil {
		t.Fatal(err)
	}
	now.Store("other")
	a.Take("m")
	if err := a.RenewFor("n", n.Record.Firm("a").ID, time.Minute); err != nil {
		t.Errorf("what is held is not renewed: %v", err)
	}
}
