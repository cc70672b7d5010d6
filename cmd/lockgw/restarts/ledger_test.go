package restarts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

// now is the clock of the deadlines that the gateways tell.
func now() time.Duration { return boottime.Now() }

// ledger is what the clients have seen.
type ledger struct {
	mu      sync.Mutex // guards the fields below
	ops     []history.Op
	faults  []string
	kept    int // how often a holder has seen after a restart that it holds all as before
	late    int // how often one has lost something because its gateway was away at the deadline
	repeats int // requests that were sent again
	unheard int // of these, those that had been answered
	drawn   int // acquires whose grant was taken back before the client was told
}

func (l *ledger) op(o history.Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops = append(l.ops, o)
}

// fault notes something that must not be.
func (l *ledger) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, fmt.Sprintf("at %v: ", now())+fmt.Sprintf(format, args...))
}

func (l *ledger) count(n *int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*n++
}

func (l *ledger) bad() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.faults) > 0
}

// judge reports what is wrong with all that was seen.
func (l *ledger) judge(t testing.TB) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.faults[:min(len(l.faults), 20)] {
		t.Error(f)
	}
	vs := append(history.Overlaps(l.ops), history.Fences(l.ops, true)...)
	for _, v := range vs[:min(len(vs), 5)] {
		t.Error(v)
	}
	t.Logf("%d holds; %d requests repeated, %d of them after an answer that was lost; %d grants taken back untold; a client held all it had after a restart %d times, lost something with its gateway away at the deadline %d times",
		len(l.ops), l.repeats, l.unheard, l.drawn, l.kept, l.late)
}

// insist repeats a request until it is answered.
func insist[T any](ctx context.Context, l *ledger, request func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	for last := error(nil); ; {
		v, err := request(ctx)
		if no := (*refusal)(nil); err == nil || errors.As(err, &no) {
			return v, err
		}
		if ctx.Err() != nil {
			return v, fmt.Errorf("no answer in %v, the last try: %w", 2*patience, last)
		}
		last = err
		l.count(&l.repeats)
		if errors.Is(err, errUnheard) {
			l.count(&l.unheard)
		}
		pause(ctx, 5*time.Millisecond)
	}
}

// pause lets d pass, or the rest of ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// eventually waits for what has to come.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not in %v: %s", patience, what)
		}
	}
}
