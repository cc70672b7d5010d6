package redlock

import (
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// Servers that were new together count as such until each was looked at; but not one that was
// restarted before: another gateway may have used it.
func TestRestartedBeforeItWasLookedAt(t *testing.T) {
	t.Parallel()
	s := &site{}
	var all []*redistest.Server
	for range 3 {
		server := redistest.Start(t)
		table, err := redis.OpenTable(redis.Config{URL: server.URL(), Node: backend.Node{ID: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = table.Close() })
		all, s.servers = append(all, server), append(s.servers, table)
	}
	unused := func(i int) bool { return s.unused(t.Context(), i) }
	if !unused(0) {
		t.Fatal("three servers that nobody has used are not new")
	}
	all[0].Client().Set(t.Context(), "lockgw:guard:{0}", "used", 0)
	all[2].RestartEmpty()
	redistest.Await(t, "the server is there again", func() bool { _, is := s.servers[2].Unused(t.Context()); return is })
	if !unused(1) || unused(2) {
		t.Errorf("new are the second: %v, and the third, which was restarted: %v", unused(1), unused(2))
	}
}
