package requests

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

func TestEvalRefused(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	set := func(key, value string) func(*testing.T, *goredis.Client) {
		return func(t *testing.T, c *goredis.Client) {
			if err := c.ConfigSet(t.Context(), key, value).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		code, advice string
		args         []string // of the server
		login        string
		before       func(*testing.T, *goredis.Client)
	}{
		{code: "OOM", advice: "maxmemory", before: set("maxmemory", "1")},
		{code: "NOREPLICAS", advice: "min-replicas-to-write", before: set("min-replicas-to-write", "1")},
		{code: "READONLY", advice: "its master", args: []string{"--replicaof", "127.0.0.1", "1"}},
		{code: "NOAUTH", advice: "password", args: []string{"--requirepass", "p"}},
		{code: "WRONGPASS", advice: "no such user", args: []string{"--requirepass", "p"}, login: ":q@"},
		{code: "NOPERM", advice: "ACL SETUSER", args: []string{"--user", "u", "on", ">p", "~*", "+ping"}, login: "u:p@"},
		{code: "CLUSTERDOWN", advice: "slots", args: []string{"--cluster-enabled", "yes"}},
		{code: "MISCONF", advice: "see its log", args: []string{"--dir", gone}, before: func(t *testing.T, c *goredis.Client) {
			set("save", "3600 1")(t, c)
			if err := os.Remove(gone); err != nil {
				t.Fatal(err)
			}
			c.BgSave(t.Context())
			for !strings.Contains(c.Info(t.Context(), "persistence").Val(), "rdb_last_bgsave_status:err") {
				time.Sleep(5 * time.Millisecond)
			}
		}},
		{code: "BUSY", advice: "SCRIPT KILL", before: func(t *testing.T, c *goredis.Client) {
			set("busy-reply-threshold", "1")(t, c)
			loop := dial(t, "redis://"+c.Options().Addr)
			go loop.Eval(context.Background(), "while true do end", nil)
			for !goredis.HasErrorPrefix(c.Ping(t.Context()).Err(), "BUSY") {
				time.Sleep(5 * time.Millisecond)
			}
		}},
	} {
		t.Run(tt.code, func(t *testing.T) {
			s := redistest.Start(t, tt.args...)
			if tt.before != nil {
				tt.before(t, s.Client())
			}
			p := piped(t, tt.login+s.Addr)
			for range 2 { // in full, then by its name
				_, err := p.eval(t.Context(), "n", count, to([]string{"n"}))
				if !errors.Is(err, backend.ErrRefused) || errors.Is(err, backend.ErrUnavailable) {
					t.Errorf("err = %v, want %v", err, backend.ErrRefused)
				} else if !strings.Contains(err.Error(), tt.code) || !strings.Contains(err.Error(), tt.advice) {
					t.Errorf("err = %v, want one with %q and %q", err, tt.code, tt.advice)
				}
			}
		})
	}
}

// A script that an ACL stops may have written before.
func TestEvalOfHalfRunScript(t *testing.T) {
	s := redistest.Start(t, "--user", "u", "on", ">p", "~*", "&*", "+@all", "-del")
	p := piped(t, "u:p@"+s.Addr)
	half := NewScript("", "", "redis.call('set', KEYS[1], 1) return redis.call('del', KEYS[1])")
	_, err := p.eval(t.Context(), "n", half, to([]string{"k"}))
	if err == nil || errors.Is(err, backend.ErrRefused) {
		t.Errorf("err = %v, want one that is not %v", err, backend.ErrRefused)
	}
	if got := s.Client().Get(t.Context(), "k").Val(); got != "1" {
		t.Errorf("k = %q, want 1, or this test shows nothing", got)
	}
}

// While Redis takes no connection more, requests wait for the one that there is.
func TestEvalOverOneConnection(t *testing.T) {
	s := redistest.Start(t)
	p := piped(t, s.Addr)
	eval := func(name string) {
		if _, err := p.eval(t.Context(), name, echo, to([]string{name}, "x")); err != nil {
			t.Error(err)
		}
	}
	eval("0")
	if err := s.Client().ConfigSet(t.Context(), "maxclients", "1").Err(); err != nil {
		t.Fatal(err)
	}
	var users sync.WaitGroup
	for i := range 8 {
		users.Go(func() {
			for range 50 {
				eval(strconv.Itoa(i))
			}
		})
	}
	users.Wait()
}
