package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// While Redis takes no connection more, a gateway renews over those that it has for requests, and
// one that has none says what to do.
func TestNoConnectionToSpare(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := openNode(t, s.URL(), "a", redis.GuardNone), openNode(t, s.URL(), "b", redis.GuardNone)
	held := a.does("x", ledger.Op{Want: 1}).Record
	if err := s.Client().ConfigSet(t.Context(), "maxclients", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "x", ID: held.Firm("a").ID, TTL: time.Minute}}); err != nil || errs[0] != nil {
		t.Errorf("a renewal was not sent over another connection: %v, %v", errs, err)
	}
	if _, err := b.Look(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "raise maxclients of Redis") {
		t.Errorf("err = %v, want that maxclients is to be raised", err)
	}
}

// The password was changed, and the gateway does not know yet: it renews over the connections that it has
// for requests.
func TestRenewsWhereNobodyIsLetIn(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	admin := s.Client()
	set := func(rule ...any) {
		if err := admin.Do(t.Context(), append([]any{"ACL", "SETUSER", "app"}, rule...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("on", ">one", "~*", "&*", "+@all")
	a := openNode(t, "redis://app:one@"+s.Addr, "a", redis.GuardNone)
	held := a.does("x", ledger.Op{Want: 1}).Record
	set("resetpass", ">two")
	if errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "x", ID: held.Firm("a").ID, TTL: time.Minute}}); err != nil || errs[0] != nil {
		t.Errorf("a renewal was not sent over another connection: %v, %v", errs, err)
	}
}
