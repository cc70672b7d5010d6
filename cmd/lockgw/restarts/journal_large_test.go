package restarts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/session/journal"
)

// However much a journal has to say of answers, nobody's lease runs out meanwhile.
func TestStartWithALargeJournal(t *testing.T) {
	store := redistest.Start(t)
	g := lone(t, store.URL())
	d, l := mustHold(t, g, "x", `{"keepalive":"1h","ttl":"30s"}`)
	redis := store.Client()
	ends := time.Now().Add(redis.PTTL(t.Context(), "x").Val())
	g.Kill()

	j, past, err := journal.Open(g.State())
	if err != nil {
		t.Fatal(err)
	}
	answers := journal.MostAnswers
	if e2e.Race {
		answers /= 8
	}
	for id := range past.Sessions {
		for n := range answers {
			a := journal.Answer{Key: fmt.Sprintf("key-%d", n), What: "release " + strings.Repeat("x", 255), At: time.Now(), Name: strings.Repeat("x", 100)}
			j.Answered(past.Sessions[id].ID, a)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Stat(filepath.Join(g.State(), "journal"))
	if err != nil || file.Size() < int64(answers)*400 {
		t.Fatalf("the journal has %d bytes, want a large one: %v", file.Size(), err)
	}
	t.Logf("%d MiB; the lease lasts %v more", file.Size()>>20, time.Until(ends).Round(time.Millisecond))

	began := time.Now()
	g.mustStart(t)
	t.Logf("ready after %v", time.Since(began).Round(time.Millisecond))
	if left := redis.PTTL(t.Context(), "x").Val(); time.Now().Before(ends) && left <= time.Until(ends) {
		t.Errorf("when it is ready the lease lasts %v, it was not renewed", left)
	} else if left <= 0 {
		t.Error("the lease has run out")
	}
	locks, err := d.locks(t.Context())
	if err != nil || len(locks) != 1 || locks[0].Fence != l.Fence {
		t.Errorf("its client holds %+v, %v, want %+v", locks, err, l)
	}
}
