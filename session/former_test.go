package session_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/journal"
)

// testdata/journal-a78a0ee was left by a gateway of that commit, the last before the second
// edition of the core, which was killed: two sessions, a name held twice over by the first,
// one that both share, a semaphore of which both have a permit, and names that were given back.
const (
	formerFirst, formerSecond = "wVW88wx0HjEV7JTaGgwVFXOsvnWZyEFgr_ksX5RhQZE", "PJaLex8uboRqDmSDzIQ1xOAulKpQIaILWSuR1YwYBTE"
	formerDeadline            = 2352219404496 * time.Nanosecond // of nightly, the first one that ends
)

// formerJournal puts that file into dir, as if it had been written since this machine has started.
func formerJournal(t *testing.T, dir string) {
	t.Helper()
	const header, prefix = "lockgw journal 1\n", 12
	b, err := os.ReadFile("testdata/journal-a78a0ee")
	if err != nil {
		t.Fatal(err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Skipf("the start of this machine has no name: %v", err)
	}
	b = bytes.TrimPrefix(b, []byte(header))
	n := binary.LittleEndian.Uint32(b)
	node := regexp.MustCompile(`"boot":"[^"]*"`).ReplaceAll(b[prefix:prefix+n], []byte(`"boot":"`+string(bytes.TrimSpace(boot))+`\n"`))
	table := crc32.MakeTable(crc32.Castagnoli)
	file := binary.LittleEndian.AppendUint32([]byte(header), uint32(len(node)))
	file = binary.LittleEndian.AppendUint32(file, crc32.Checksum(file[len(header):], table))
	file = binary.LittleEndian.AppendUint32(file, crc32.Checksum(node, table))
	file = append(append(file, node...), b[prefix+n:]...)
	if err := os.WriteFile(filepath.Join(dir, "journal"), file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A gateway that is upgraded has what its clients hold, under the same fences; what they give
// back stays so over the next restart.
func TestJournalOfTheFirstEdition(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := fakeClock()
		ahead := formerDeadline - 20*time.Second - clock()
		p := &process{t: t, dir: t.TempDir(), own: true, store: memory.NewRows()}
		p.cfg = session.Config{KeepHolds: true, Clock: func() time.Duration { return clock() + ahead }}
		formerJournal(t, p.dir)
		p = p.start()
		first, second := p.lookup(formerFirst), p.lookup(formerSecond)
		for _, want := range []struct {
			s       *session.Session
			name    string
			fence   uint64
			entries int
		}{
			{first, "nightly", 1795425841288965, 2},
			{first, "report", 1795425841317809, 1},
			{second, "report", 1795425841384902, 1},
			{first, "pool", 1795425841344227, 1},
			{second, "pool", 1795425841492101, 1},
		} {
			l, err := want.s.Renew(t.Context(), want.name, 1, 0)
			if err != nil {
				t.Errorf("%s: %v", want.name, err)
				continue
			}
			if v, over := l.View(); over != nil || uint64(v.Fence) != want.fence || v.Count != want.entries {
				t.Errorf("%s: fence %d, entries %d, %v; want %d, %d", want.name, v.Fence, v.Count, over, want.fence, want.entries)
			}
		}
		newcomer, _ := p.open(patient)
		mustAcquire(t, newcomer, "once", session.Acquire{})
		mustAcquire(t, newcomer, "gone", session.Acquire{})
		mustAcquire(t, newcomer, "pool", session.Acquire{Limit: 3})
		for _, name := range []string{"nightly", "report", "pool"} {
			_, err := newcomer.Acquire(t.Context(), name, session.Acquire{Thread: 2, Limit: map[string]int{"pool": 3}[name]})
			if err == nil {
				t.Errorf("%s was granted beside those who have it", name)
			}
		}
		for _, name := range []string{"nightly", "nightly", "report", "pool"} {
			if _, err := first.Release(t.Context(), name, 1, false, ""); err != nil {
				t.Errorf("release %s: %v", name, err)
			}
		}
		p = p.restart()
		if n := len(p.lookup(formerFirst).Leases()); n != 0 {
			t.Errorf("after a restart the first session holds %d again, which it had given back", n)
		}
		if n := len(p.lookup(formerSecond).Leases()); n != 2 {
			t.Errorf("after a restart the second session holds %d, want report and pool", n)
		}
	})
}

// Of two holds of one name that a journal tells of, the earlier one is over, and its session
// is told so.
func TestTwoHoldsInTheJournal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		former, formerToken := p.open(patient)
		later, laterToken := p.open(patient)
		a := session.Acquire{Shared: true, Key: "k"}
		first := uint64(mustAcquire(t, former, "x", a).Fence())
		mustRelease(t, former, "x")
		for fence, s := range map[uint64]*session.Session{first: former, first + 10: later} {
			p.j.Told(journal.Key{Name: "x", Slot: strconv.FormatUint(fence, 10)}, journal.Turn{
				Session: s.ID(), Thread: 1, Hold: fence, Fence: fence, Count: 1, TTL: time.Minute, Mode: int(backend.Shared), Deadline: p.cfg.Clock() + time.Minute,
			}, nil)
		}
		p = p.restart()
		g, err := p.lookup(formerToken).Acquire(t.Context(), "x", a)
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, g.Lease.Err(), session.CodeLost)
		_, err = p.lookup(formerToken).Renew(t.Context(), "x", 1, 0)
		if e := (*session.Error)(nil); !errors.As(err, &e) || e.Code != session.CodeLost {
			t.Errorf("the earlier one: %v, want that it is lost", err)
		}
		if _, err := p.lookup(laterToken).Renew(t.Context(), "x", 1, 0); err != nil {
			t.Errorf("the later one: %v", err)
		}
		p = p.restart()
		if n := len(p.lookup(formerToken).Leases()); n != 0 {
			t.Errorf("after one more restart the first session holds %d", n)
		}
	})
}

// A process that was killed after it had written down the end of a session, and before that of
// what the session shared, leaves nothing of it in the journals to come.
func TestSharedByASessionThatEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		ended, _ := p.open(patient)
		mustAcquire(t, ended, "x", session.Acquire{Shared: true})
		p.j.Closed(ended.ID())
		p = p.restart()
		synctest.Wait()
		mustAcquire(t, other(t, p), "x", session.Acquire{})
		if err := p.stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.kill()
		j, past, err := journal.Open(p.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		if len(past.Places) > 0 {
			t.Errorf("the journal still tells of %v", past.Places)
		}
	})
}
