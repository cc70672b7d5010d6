package restarts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	record "github.com/lockgw/lockgw/backend/ledger"
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

// keysLeft are the keys in Redis that should not be there when nobody holds or waits. The
// record of a name may stay for a minute, without anybody in it; and one mark of the
// server, from which fences count.
func (r *rig) keysLeft() (left []string) {
	if r.redis == nil {
		return nil
	}
	c := r.redis.Client()
	defer c.Close()
	keys, err := c.Keys(r.t.Context(), "*").Result()
	if err != nil {
		r.t.Error(err)
		return nil
	}
	for _, k := range keys {
		ends := c.PTTL(r.t.Context(), k).Val()
		switch {
		case strings.HasPrefix(k, "lockgw:guard:"): // of the server, not of a name
		case ends > 0 && strings.HasPrefix(k, "lockgw:mark:"): // likewise
		case ends > 0 && ends <= time.Minute && strings.HasPrefix(k, "lockgw:{") && nobody(c.Get(r.t.Context(), k).Val()):
		default:
			left = append(left, k)
		}
	}
	return left
}

// nobody holds the name of which this is the record, or waits for it.
func nobody(text string) bool {
	_, rest, _ := strings.Cut(text, "\n")
	body, joined, _ := strings.Cut(rest, "\n")
	r, err := record.Decode([]byte(body))
	return err == nil && joined == "" && len(r.Holds) == 0 && len(r.Queue) == 0
}
