package zookeeper

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

// refuses: the store says at once that it cannot be used, and why.
func refuses(t *testing.T, url, want string) {
	t.Helper()
	c := listen(t, url, "refused")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, ask := range []func() error{
		func() error { _, err := c.Swap(ctx, ledger.Swap{Name: "n"}); return err },
		func() error { return c.Ping(ctx) },
	} {
		if err := ask(); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("the error is %v, want a refusal with %q", err, want)
		}
	}
}

// A user is enough who may do what docs/zookeeper.md says, also where somebody else has made the
// chroot; without one, or with a wrong password, the error says so.
func TestLogin(t *testing.T) {
	t.Parallel()
	s, at := zktest.Shared(t), chroot("login")
	as := func(userinfo string) string {
		return strings.Replace(zktest.URL(at, s), "zookeeper://", "zookeeper://"+userinfo, 1)
	}
	if _, err := zktest.Client(t, s).Create("/"+at, nil, 0, zk.DigestACL(zk.PermRead|zk.PermWrite|zk.PermCreate|zk.PermDelete, "gate@way", "ses/ame")); err != nil {
		t.Fatal(err)
	}
	user := as("gate%40way:ses%2Fame@")
	a, b := listen(t, user, "a"), listen(t, user, "b")
	a.TakeFor("n", time.Minute)
	b.Ask("n", ledger.Op{Want: 1})
	a.Hears(ledger.Waits)
	a.Leave("n")
	b.Hears(ledger.Look)
	if err := b.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	for _, other := range []string{as("gate%40way:sesame@"), as("")} {
		refuses(t, other, "permission denied")
	}
	if found := Examine(t.Context(), Config{URL: user}); slices.ContainsFunc(found, func(f backend.Finding) bool { return f.Fails || f.Check == "rights" }) {
		t.Errorf("doctor finds %+v", found)
	}
	open := chroot("open")
	listen(t, zktest.URL(open, s), "first").Take("n")
	if found := Examine(t.Context(), Config{URL: strings.Replace(user, at, open, 1)}); !slices.ContainsFunc(found, func(f backend.Finding) bool { return f.Warned && f.Check == "rights" }) {
		t.Errorf("below a chroot that is everybody's doctor finds %+v", found)
	}
	// What the gateways have made is for their user alone.
	z := zktest.Client(t, s)
	for _, path := range []string{a.paths.record("n"), a.paths.mail("a"), a.paths.birth(), a.listening.Present().alive(), a.paths.pulse("a"), a.paths.bucket("n")} {
		if _, _, err := z.Get(path); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("who is not the user reads %s: %v", path, err)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := servertest.Certificate(t)
	s := zktest.StartTLS(t, cert, key)
	with := func(q url.Values) string { return zktest.URL("tls", s) + "&" + q.Encode() }
	files := url.Values{"tls": {"true"}, "ca_file": {cert}, "cert_file": {cert}, "key_file": {key}}
	a := listen(t, with(files), "a")
	a.Take("n")
	// A certificate is a name, for which alone the znodes are.
	if acl, _, err := a.listening.Present().c.z.GetACL(a.paths.record("n")); err != nil || len(acl) != 1 || acl[0].Scheme != "x509" {
		t.Errorf("the rights to a record are %+v, %v", acl, err)
	}

	other, otherKey := servertest.Certificate(t)
	refuses(t, with(url.Values{"tls": {"true"}, "cert_file": {cert}, "key_file": {key}}), "unknown authority")
	refuses(t, with(url.Values{"tls": {"true"}, "ca_file": {other}, "cert_file": {cert}, "key_file": {key}}), "certificate")
	refuses(t, with(url.Values{"tls": {"true"}, "ca_file": {cert}, "cert_file": {other}, "key_file": {otherKey}}), "zookeeper: ")
	refuses(t, zktest.URL("tls", s), "zookeeper: ")
}

// Files that are replaced count for the next connection, and until all of them are, those of before.
// The name in the certificate stays, for which alone the znodes are.
func TestFilesAreReplaced(t *testing.T) {
	t.Parallel()
	cert, key := servertest.CertificateOf(t, "gateway")
	s := zktest.StartTLS(t, cert, key)
	own, ownKey := servertest.CertificateOf(t, "")
	servertest.Replace(t, own, cert)
	servertest.Replace(t, ownKey, key)
	files := url.Values{"tls": {"true"}, "ca_file": {own}, "cert_file": {own}, "key_file": {ownKey}}
	a := listen(t, zktest.URL("tls", s)+"&"+files.Encode(), "a")
	a.Take("m")

	next, nextKey := servertest.CertificateOf(t, "gateway")
	servertest.Replace(t, own, next)
	s.Restart()
	a.Take("n")
	servertest.Replace(t, ownKey, nextKey)
	servertest.Replace(t, cert, next)
	servertest.Replace(t, key, nextKey)
	s.Restart() // and knows the new certificate alone
	a.Take("o")
}

// Where nothing can be kept under a session, each member says what to do.
func TestLocalSessions(t *testing.T) {
	t.Parallel()
	for _, s := range zktest.StartLocal(t) {
		refuses(t, zktest.URL("local", s), "localSessionsUpgradingEnabled")
	}
}
