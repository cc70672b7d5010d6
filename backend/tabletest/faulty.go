package tabletest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Faulty is a Table over a network that loses and delays: of requests, of answers, of
// messages. Each happens to one in so many; 0: never.
type Faulty struct {
	ledger.Table
	// Lost requests are not carried out, Unanswered ones are and nobody is told, Late
	// ones are carried out after they were given up. The sender sees no difference.
	Lost, Unanswered, Late int
	// Refused requests are not sent.
	Refused int
	// Message is how many of the messages are lost, or come late, or twice.
	Message int
	// Delay is how late what is late may be.
	Delay time.Duration

	// Count of the faults.
	Count atomic.Int64

	late   sync.WaitGroup
	mu     sync.Mutex // guards closed, and that nothing joins late after it
	closed bool
}

// later does what is late, unless Close came first: then it is lost.
func (f *Faulty) later(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.late.Go(func() {
		time.Sleep(rand.N(f.Delay))
		do()
	})
}

func (f *Faulty) happens(one int) bool {
	if one == 0 || rand.IntN(one) > 0 {
		return false
	}
	f.Count.Add(1)
	return true
}

// request carries out do, or something worse happens to it.
func request[T any](f *Faulty, do func() (T, error)) (T, error) {
	var none T
	lost := fmt.Errorf("%w: a fault of the test", backend.ErrUnavailable)
	switch {
	case f.happens(f.Refused):
		return none, fmt.Errorf("%w: a fault of the test", backend.ErrRefused)
	case f.happens(f.Lost):
		return none, lost
	case f.happens(f.Unanswered):
		_, _ = do()
		return none, lost
	case f.happens(f.Late):
		f.later(func() { _, _ = do() })
		return none, lost
	default:
		return do()
	}
}

// Swap implements ledger.Table.
func (f *Faulty) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	return request(f, func() (ledger.Reply, error) { return f.Table.Swap(context.WithoutCancel(ctx), s) })
}

// Join implements ledger.Table.
func (f *Faulty) Join(ctx context.Context, name string, e ledger.Entry, floor backend.Fence) (ledger.Reply, error) {
	return request(f, func() (ledger.Reply, error) { return f.Table.Join(context.WithoutCancel(ctx), name, e, floor) })
}

// Look implements ledger.Table.
func (f *Faulty) Look(ctx context.Context, name string) (ledger.Reply, error) {
	return request(f, func() (ledger.Reply, error) { return f.Table.Look(ctx, name) })
}

// Renew implements ledger.Table.
func (f *Faulty) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	return request(f, func() ([]error, error) { return f.Table.Renew(context.WithoutCancel(ctx), rs) })
}

// Listen implements ledger.Table.
func (f *Faulty) Listen(to func(ledger.Addressed)) {
	f.Table.Listen(func(m ledger.Addressed) {
		switch {
		case f.happens(2 * f.Message): // lost
		case f.happens(4 * f.Message):
			to(m)
			to(m)
		case f.happens(4 * f.Message):
			f.later(func() { to(m) })
		default:
			to(m)
		}
	})
}

// Close waits for what is late, and closes the Table.
func (f *Faulty) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.late.Wait()
	return f.Table.Close()
}
