package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

// now is the clock of the deadlines that the gateways tell.
func now() time.Duration { return boottime.Now() }

// recorder keeps what happened.
type recorder struct {
	mu     sync.Mutex // guards the fields below
	ops    []history.Op
	faults []history.Fault
	odd    []string // answers that no client should get
}

func (r *recorder) op(o history.Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, o)
}

func (r *recorder) fault(kind, node string, from time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, history.Fault{Kind: kind, Node: node, From: from, To: now()})
}

// watchMachine notes when this process, which hardly does anything, did not run for
// long, until ctx is done. The gateways did not run then, either, and their answers
// are late for no reason of theirs.
func (r *recorder) watchMachine(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for last := now(); ; last = now() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if now()-last > 250*time.Millisecond {
			r.fault(history.MachineStall, "", last)
		}
	}
}

func (r *recorder) strange(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.odd = append(r.odd, fmt.Sprintf(format, args...))
}

func (r *recorder) granted() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.ops {
		if o.Outcome == history.Granted {
			n++
		}
	}
	return n
}

// counts are what there was, for people.
func (r *recorder) counts() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, kinds, stalled := map[string]int{}, map[string]int{}, time.Duration(0)
	for _, o := range r.ops {
		n[string(o.Outcome)]++
		if o.Outcome == history.Granted {
			n["then "+string(o.End)]++
		}
	}
	for _, f := range r.faults {
		kinds[f.Kind]++
		if f.Kind == history.MachineStall {
			stalled += f.To - f.From
		}
	}
	return fmt.Sprintf("%d acquires %v, %d faults %v, the machine stalled for %v", len(r.ops), n, len(r.faults), kinds, stalled)
}

// keep writes the history and a picture of each of the first violations to a
// directory that outlives the test, and says where.
func (r *recorder) keep(t testing.TB, vs []history.Violation) string {
	dir, err := os.MkdirTemp("", "lockgw-history-")
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	write(t, filepath.Join(dir, "history.json"), func(f *os.File) error {
		return json.NewEncoder(f).Encode(map[string]any{"ops": r.ops, "faults": r.faults})
	})
	for i, v := range vs[:min(len(vs), 10)] {
		if v.Name == "" || len(v.Ops) == 0 {
			continue
		}
		write(t, filepath.Join(dir, fmt.Sprintf("%02d-%s.html", i+1, v.Rule)), func(f *os.File) error {
			return history.Timeline(f, v, r.ops, r.faults)
		})
	}
	return dir
}

func write(t testing.TB, path string, do func(*os.File) error) {
	f, err := os.Create(path)
	if err == nil {
		err = do(f)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Errorf("keep the history: %v", err)
	}
}

// copies lets the checkers work while callers may still report.
func (r *recorder) copies() ([]history.Op, []history.Fault, []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ops), slices.Clone(r.faults), slices.Clone(r.odd)
}
