package voting

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// link is a server behind a network that loses and delays.
type link struct {
	ledger.Table
	h    *history
	mu   sync.Mutex
	rand *rand.Rand
	calm bool
	safe bool          // nothing is lost
	far  time.Duration // how late what is late may be
}

// over has a request travel, and says whether its answer arrives.
func (l *link) over(do func()) error {
	l.mu.Lock()
	there, back, fate := l.rand.Int64N(int64(4*time.Millisecond)), l.rand.Int64N(int64(4*time.Millisecond)), l.rand.IntN(12)
	far := l.rand.Int64N(int64(l.far))
	calm := l.calm
	l.mu.Unlock()
	lost := fmt.Errorf("%w: a fault of the test", backend.ErrUnavailable)
	if l.safe {
		fate = max(fate, 3)
	}
	switch {
	case !calm && fate == 0: // lost
		time.Sleep(time.Duration(there + back))
		return lost
	case !calm && fate == 1: // carried out, and nobody is told
		time.Sleep(time.Duration(there))
		do()
		return lost
	case !calm && fate == 2: // given up, and carried out later
		go func() {
			time.Sleep(time.Duration(far))
			do()
		}()
		return lost
	case !calm && fate == 3: // slow
		there += far
	}
	time.Sleep(time.Duration(there))
	do()
	time.Sleep(time.Duration(back))
	return nil
}

func (l *link) Look(ctx context.Context, name string) (ledger.Reply, error) {
	return l.ask(func() (ledger.Reply, error) { return l.Table.Look(ctx, name) })
}

// ask has a request travel, and its answer, which may be too late for whom it is.
func (l *link) ask(do func() (ledger.Reply, error)) (ledger.Reply, error) {
	type answer struct {
		r   ledger.Reply
		err error
	}
	answers := make(chan answer, 1)
	lost := l.over(func() {
		r, err := do()
		answers <- answer{r, err}
	})
	if lost != nil {
		return ledger.Reply{}, lost
	}
	a := <-answers
	return a.r, a.err
}

func (l *link) Swap(_ context.Context, s ledger.Swap) (ledger.Reply, error) {
	if v, err := parseVote(s.Record.Vote); err == nil && len(s.Record.Queue) == 2 {
		after, _ := strings.CutPrefix(s.Record.Queue[1].Node, "after ")
		l.h.mu.Lock()
		l.h.parent[v.version()], l.h.author[v.version()] = ledger.Version(after), s.Record.Queue[0].Node
		l.h.mu.Unlock()
	}
	return l.ask(func() (ledger.Reply, error) { return l.Table.Swap(context.Background(), s) })
}

func (l *link) Renew(_ context.Context, rs []ledger.Renewal) (errs []error, err error) {
	type answer struct {
		errs []error
		err  error
	}
	answers := make(chan answer, 1)
	lost := l.over(func() {
		errs, err := l.Table.Renew(context.Background(), rs)
		answers <- answer{errs, err}
	})
	if lost != nil {
		return nil, lost
	}
	a := <-answers
	return a.errs, a.err
}
