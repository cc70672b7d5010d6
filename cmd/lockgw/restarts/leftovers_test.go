package restarts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/session/journal"
)

// clean: nothing of the clients is left in the store, and nothing in the journals.
func (r *rig) clean() {
	eventually(r.t, "nothing is left in Redis", func() bool { return len(r.keysLeft()) == 0 })
	for _, g := range r.gateways {
		eventually(r.t, "no session is left in the journal of "+g.Name, func() bool { return g.sessionsLeft(r.t) == 0 })
		eventually(r.t, "no name is left in the journal of "+g.Name, func() bool { return g.stopsClean(r.t) })
		if text := g.complaint(); text != "" {
			r.t.Errorf("%s complains: %s", g.Name, text)
		}
	}
}

// sessionsLeft counts those that the gateway has to look after. One of a single lock
// answers repeats for a while.
func (g *gateway) sessionsLeft(t testing.TB) (n int) {
	for _, s := range g.journal(t).Sessions {
		if !s.OneLock {
			n++
		}
	}
	return n
}

// stopsClean stops the gateway, and starts it again if its journal still has a name.
func (g *gateway) stopsClean(t testing.TB) bool {
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	if len(g.journal(t).Places) == 0 {
		return true
	}
	g.mustStart(t)
	return false
}

// journal reads what a process would find that started now.
func (g *gateway) journal(t testing.TB) journal.State {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(g.State(), "journal"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "journal"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	j, past, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	j.Close()
	return past
}

// keysLeft are the keys in Redis that should not be there when nobody holds or
// waits. What keeps fences and the numbers of requests apart stays for a while.
func (r *rig) keysLeft() (left []string) {
	if r.store == nil {
		return nil
	}
	c := r.store.Client()
	defer c.Close()
	keys, err := c.Keys(r.t.Context(), "*").Result()
	if err != nil {
		r.t.Error(err)
		return nil
	}
	for _, k := range keys {
		own := strings.HasPrefix(k, "lockgw:")
		stays := strings.HasPrefix(k, "redisson_lock_token:") || own && strings.HasSuffix(k, ":f") || own && strings.Contains(k, "}:r:")
		ofServer := strings.HasPrefix(k, "lockgw:guard:")
		if !ofServer && (!stays || c.PTTL(r.t.Context(), k).Val() <= 0) {
			left = append(left, k)
		}
	}
	return left
}
