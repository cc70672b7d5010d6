package redis_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// commandsOfScripts are those that the scripts use, by what stands in them.
func commandsOfScripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.lua")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if file == "rights.lua" {
			continue
		}
		for _, m := range regexp.MustCompile(`call\([^)]*?'([A-Z]+)'(?: or '([A-Z]+)')?`).FindAllStringSubmatch(string(text), -1) {
			all = append(all, m[1:]...)
		}
	}
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(c string) bool { return c == "" || c == "SPUBLISH" })
	if len(all) < 20 {
		t.Fatalf("commands = %v", all)
	}
	return all
}

// A user that lacks one command of the scripts is told which, and nothing is left behind.
func TestLackingRight(t *testing.T) {
	t.Parallel()
	const rights = "on >p ~lockgw:* ~n* ~redisson_lock_token:* &lockgw:node:* &redisson_lock__channel:* +@all"
	s := redistest.Start(t)
	rdb := s.Client()
	for _, command := range commandsOfScripts(t) {
		user := "no_" + command
		setUser(t, s, user, rights+" -"+strings.ToLower(command))
		a := openTable(t, "redis://"+user+":p@"+s.Addr, "a", redis.GuardNone)
		n := &node{Table: a, t: t, id: "a"}
		_, err := n.Swap(t.Context(), n.swapOf("n", ledger.Reply{}, ledger.Op{Want: 1}))
		if !errors.Is(err, backend.ErrRefused) || errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "allow it "+command+";") {
			t.Errorf("without %s: %v", command, err)
		}
		for _, key := range rdb.Keys(t.Context(), "*").Val() {
			if rdb.PTTL(t.Context(), key).Val() == -1 {
				t.Errorf("without %s, %s is left for ever", command, key)
			}
		}
		_ = a.Close()
		rdb.FlushAll(t.Context())
	}
	for _, channel := range []string{"lockgw:node:", "redisson_lock__channel:"} {
		setUser(t, s, "no_channel", "reset "+strings.ReplaceAll(rights, " &"+channel+"*", ""))
		n := &node{Table: openTable(t, "redis://no_channel:p@"+s.Addr, "a", redis.GuardNone), t: t, id: "a"}
		if _, err := n.Swap(t.Context(), n.swapOf("n", ledger.Reply{}, ledger.Op{Want: 1})); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "PUBLISH "+channel) {
			t.Errorf("without the channels %s: %v", channel, err)
		}
	}
}

// A guard that may not see whom gateways trust says so, and not that one should ask again.
func TestGuardLacksRights(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for name, tt := range map[string]struct{ rights, want string }{
		"no_get":  {"~* &* +@all -get", "'get'"},
		"no_keys": {"~n* ~redisson_lock_token:* &* +@all", "key"}, // 8 has "a key" where 7 has "one of the keys"
	} {
		setUser(t, s, name, "on >p "+tt.rights)
		n := openNode(t, "redis://"+name+":p@"+s.Addr, "a", redis.GuardQuarantine)
		_, err := n.Swap(t.Context(), n.swapOf("n", ledger.Reply{}, ledger.Op{Want: 1}))
		for _, err := range []error{err, n.Ping(t.Context())} {
			if !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "NOPERM") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want NOPERM", name, err)
			}
		}
	}
}

func setUser(t *testing.T, s *redistest.Server, user, rights string) {
	t.Helper()
	args := []any{"acl", "setuser", user}
	for _, r := range strings.Fields(rights) {
		args = append(args, r)
	}
	if err := s.Client().Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
}
