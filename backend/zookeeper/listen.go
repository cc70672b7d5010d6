package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// Listen implements ledger.Table.
func (t *Table) Listen(f func(ledger.Addressed)) {
	t.told = f
	t.Work.Go(func() { t.listening.Run(t.Life, t.serve) })
	t.Work.Go(t.expire)
	t.Work.Go(func() { quorum.Sweep(t.Life, t.sweep, t.scan) })
}

// serve begins a session and listens until something goes wrong. began: it came so far.
func (t *Table) serve(first bool) (began bool, err error) {
	s, err := t.begin(t.Life, first)
	if err != nil {
		return false, err
	}
	defer s.finish()
	t.listening.Ready(s)
	t.resync(!first)
	return true, s.listen(t.Life)
}

// resync says that messages may have been missed, if so.
func (t *Table) resync(missed bool) {
	if missed {
		t.told(ledger.Addressed{Message: ledger.Message{Node: t.Node(), Kind: ledger.Resync}})
	}
}

// listen tells what is written to the znode of this node, and keeps the session alive, until
// it is of no use any more.
func (s *session) listen(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	e := &ear{session: s, again: make(chan struct{}, 1)}
	ended := make(chan error, 2)
	s.t.Work.Go(func() { ended <- e.hear(ctx) })
	s.t.Work.Go(func() { ended <- e.probe(ctx) })
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.c.over:
		return errors.New("it has expired")
	case <-s.t.listening.Kicked():
		return errors.New("ZooKeeper does not have what this gateway has written")
	case err := <-ended:
		return err
	}
}

// ear is the watch of the node's own znode.
type ear struct {
	*session
	inbox inbox
	heard atomic.Int32  // version of the znode that was delivered
	again chan struct{} // has an element when the watch is not to be trusted
}

var errDeleted = errors.New("the znode of this node's messages was deleted, or another process has it")

// hear reads what is in the znode, and watches it with the same request, so that nothing is
// missed between.
func (e *ear) hear(ctx context.Context) error {
	for ctx.Err() == nil {
		within, cancel := context.WithTimeout(ctx, quorum.ProbeTime)
		w, err := e.watch(within, e.t.paths.mail(e.t.Node()))
		cancel()
		switch {
		case isGone(err) || err == nil && w.st.EphemeralOwner != e.owner:
			return errDeleted
		case err != nil:
			backend.Wait(ctx, quorum.RetryAfter)
			continue
		}
		o := e.inbox.open(e.session, w.value, w.st)
		e.heard.Store(w.st.Version)
		for _, m := range o.ms {
			e.t.told(m)
		}
		e.t.resync(o.missed)
		select {
		case <-ctx.Done():
		case <-w.events:
		case <-e.again:
		}
	}
	return ctx.Err()
}

// probe asks for the znodes of this node again and again, and ends a connection over which no
// answer comes.
func (e *ear) probe(ctx context.Context) error {
	tick := time.NewTicker(e.touchEvery())
	defer tick.Stop()
	owed := int32(0)
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		within, cancel := context.WithTimeout(ctx, min(quorum.ProbeTime, max(e.c.timeout()/3, leastTime)))
		begin := now()
		there, err := e.ask(within, n%quorum.WritesEvery == 0)
		late := within.Err() != nil
		cancel()
		switch {
		case err == nil:
			e.touched.Store(int64(begin))
			if owed > e.heard.Load() {
				backend.Signal(e.again)
			}
			owed = there
		case isGone(err) || errors.Is(err, errBack) || errors.Is(err, errDeleted):
			return err
		case now()-time.Duration(e.touched.Load()) > e.c.timeout()*2/3:
			// Servers that were restored from an older copy never take up a session that has
			// seen more than they have.
			return fmt.Errorf("nothing is heard of it any more: %w", err)
		case late && ctx.Err() == nil:
			e.c.cut()
		}
	}
}

// ask looks whether everything is as it was. there is the version of the znode of messages.
func (e *ear) ask(ctx context.Context, writes bool) (there int32, err error) {
	if _, _, err := e.get(ctx, e.alive()); err != nil {
		return 0, err
	}
	_, st, err := e.get(ctx, e.t.paths.mail(e.t.Node()))
	if err != nil {
		return 0, err
	}
	if st.EphemeralOwner != e.owner {
		return 0, errDeleted
	}
	if err := e.trust(ctx); err != nil {
		return 0, err
	}
	if writes {
		return st.Version, e.beat(ctx)
	}
	return st.Version, nil
}
