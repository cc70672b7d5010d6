// Package voting makes one ledger.Table of several, of which a majority decides: Redlock.
// Locks are exclusive; a name has neither shared holds nor permits.
//
// The record of a name is a register that is replicated by CASPaxos (D. Rystsov, "CASPaxos:
// Replicated State Machines without logs", 2018, https://arxiv.org/abs/1802.07000). Servers
// are plain Tables and know nothing of each other, so nodes carry out the acceptors, too:
// the state of an acceptor stands beside the record (Record.Vote), and is changed by
// compare-and-set.
//
//	promise b   nothing below b is accepted any more; the answer is what was accepted
//	accept b    the record is taken over, unless a higher ballot was promised
//
// A round promises at a majority, takes the record with the highest accepted ballot, and has
// a majority accept what comes of it: the record of the Swap if that is based on it, else
// the same record again. With that it is chosen, and only what is chosen is ever told. A
// node that writes again after its own write needs no promise: each server has promised
// the next ballot together with accepting the last one.
//
// The version of a record is the ballot at which it was first proposed. It stays when the
// record is accepted again at another one, unless the lock of a hold was deleted on a server:
// it is written there again with another version alone. Whoever sees another version than the one that
// its unanswered write was based on may be sure that the write will not be carried out any
// more: a majority has promised a higher ballot.
//
// # Leases
//
// A lease runs on each server by its own clock. It begins on all servers that accept the
// write, a renewal counts if a majority has it, and a write that ends a hold because its
// time is up needs a majority on which it is up. Any two majorities share a server, so a
// hold whose holder counts on a majority is not ended. As always with Redlock, clocks have
// to run at the same speed within the margin that a holder keeps. A hold that a server has
// missed begins there with the longest rest that other servers tell. No write makes a lease
// shorter that a server has (Effects.Lengthens): the holder may have renewed it there while the
// write was on its way, and a majority without that server may have carried it out long ago.
//
// # Servers that forget
//
// An acceptor that has forgotten may break a promise, and take part in two majorities. So
// the Table of a server that may have forgotten has to refuse every promise and every
// accept, not only grants, until all that was held before is over and all requests of that
// time have ended: all writes have Effects.Grants set, which is what such a Table refuses.
// Those by which nobody gets anything have Effects.Frees set, too: a server that is full
// carries them out.
// Then a hold that still goes on was renewed by a majority of the others since, so every
// majority has a server that knows it. What a minority has forgotten beyond that is only
// order: somebody's place in the queue, a release of a lease that has ended since. Fences
// grow all the same, for new ones begin above the clocks.
//
// Records that nobody uses are forgotten on purpose, a minute after the last write. It is
// the same case: no request is under way for so long, and all leases in it are over. Then
// the clock of one server may be behind fences that began above that of another one. So a
// server without a record makes a promise by a new one of its own Table, whose Top is above
// all that it has forgotten, and fences begin above that, too.
//
// # Programs outside lockgw
//
// Each server has the lock that they see. Somebody else's is a reason for that server to
// refuse a hold. On a majority it is shown as a holder outside lockgw.
package voting

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
)

// maxServers is how many there may be.
const maxServers = 64

// Table is several Tables of one node, as one.
type Table struct {
	tables []ledger.Table
	quorum int
	nonce  string
	rounds atomic.Uint64
	inbox  inbox
	clock  func() time.Duration        // by which what servers have told grows old
	pause  func(try int) time.Duration // before the round that comes after so many
	wg     sync.WaitGroup              // requests on their way

	mu    sync.Mutex // guards the field below
	known map[string]*known
}

var _ ledger.Table = (*Table)(nil)

// New makes a Table of tables, which it closes. Those of other nodes have to be of the same
// stores.
func New(tables []ledger.Table) *Table {
	return &Table{
		tables: tables, quorum: len(tables)/2 + 1, nonce: rand.Text()[:nonceLength], known: map[string]*known{},
		clock: boottime.Now,
		pause: func(try int) time.Duration { return mathrand.N(time.Millisecond << min(try, 4)) }, // rounds that meet again and again would get nowhere
	}
}

// Node implements ledger.Table.
func (t *Table) Node() string { return t.tables[0].Node() }

// Info implements ledger.Table.
func (t *Table) Info() backend.Info {
	is := t.tables[0].Info()
	is.Type, is.Modes = "redlock", false
	return is
}

// who names a round.
func (t *Table) who() string { return t.nonce + strconv.FormatUint(t.rounds.Add(1), 36) }

// Look implements ledger.Table.
func (t *Table) Look(ctx context.Context, name string) (ledger.Reply, error) {
	a := t.look(ctx, name, t.agreed)
	if v, ok := common(a.rows, t.quorum); ok {
		x := read(a.rows, v, len(t.tables), t.clock())
		return x.reply(), nil
	}
	if len(a.rows) < t.quorum {
		return ledger.Reply{}, t.trouble(name, a.errs, false)
	}
	p := &proposal{t: t, name: name}
	return p.run(ctx)
}

// look reads a name on the servers, of which the answers may differ, until enough have answered.
func (t *Table) look(ctx context.Context, name string, enough func(*answers) bool) *answers {
	results := t.ask(ctx, name, func(ctx context.Context, a *acceptor) ([]string, error) { return nil, a.look(ctx) })
	return t.wait(ctx, results, enough)
}

// agreed: a majority has the same record.
func (t *Table) agreed(a *answers) bool {
	_, ok := common(a.rows, t.quorum)
	return ok && t.settled(a)
}

// settled: it is known whether a majority has the lock of a program outside lockgw.
func (t *Table) settled(a *answers) bool {
	outside := 0
	for _, r := range a.rows {
		if r.record.Hold(0) != nil {
			outside++
		}
	}
	return outside == 0 || outside >= t.quorum
}

// Swap implements ledger.Table.
func (t *Table) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	if err := exclusive(&s.Record); err != nil {
		return ledger.Reply{}, err
	}
	if s.Effects.Evicts && strings.Count(s.Seen, between) != len(t.tables)-1 {
		return ledger.Reply{}, fmt.Errorf("%w: what has the key of %s on the servers is no lock as far as can be told: look at it, and delete it by the store's own tools", backend.ErrConflict, s.Name)
	}
	p := &proposal{t: t, name: s.Name, swap: &s}
	return p.run(ctx)
}

// exclusive refuses what servers that vote for themselves cannot keep. That a program outside
// lockgw has the name as something else is not kept.
func exclusive(r *ledger.Record) error {
	ok := r.Size == 0 || r.Size == ledger.OtherKind
	for _, h := range r.Holds {
		ok = ok && h.Mode == backend.Exclusive
	}
	for _, e := range r.Queue {
		ok = ok && e.Mode == backend.Exclusive
	}
	if !ok {
		return fmt.Errorf("%w: redlock has exclusive locks alone", backend.ErrRefused)
	}
	return nil
}

// Join implements ledger.Table.
func (t *Table) Join(ctx context.Context, name string, e ledger.Entry, floor backend.Fence) (ledger.Reply, error) {
	if err := exclusive(&ledger.Record{Queue: []ledger.Entry{e}}); err != nil {
		return ledger.Reply{}, err
	}
	return ledger.JoinBySwap(ctx, name, e, t.Look, func(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
		s.Floor = floor
		return t.Swap(ctx, s)
	})
}

// Send implements ledger.Table. Every server passes the messages on: to which of them the
// node listens just now, nobody knows.
func (t *Table) Send(ctx context.Context, ms []ledger.Addressed) error {
	if err := ledger.Texts(ms); err != nil {
		return err
	}
	sent := t.each(ctx, func(ctx context.Context, s ledger.Table) error { return s.Send(ctx, ms) })
	var errs []error
	for range t.tables {
		select {
		case err := <-sent:
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", backend.ErrUnavailable, ctx.Err())
		}
	}
	return errors.Join(errs...)
}

// Ping implements ledger.Table: a majority can serve. One in quarantine cannot yet.
func (t *Table) Ping(ctx context.Context) error {
	pinged := t.each(ctx, func(ctx context.Context, s ledger.Table) error { return s.Ping(ctx) })
	good, errs := 0, []error(nil)
	for range t.tables {
		var err error
		select {
		case err = <-pinged:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			errs = append(errs, err)
		} else if good++; good == t.quorum {
			return nil
		}
	}
	return t.later(fmt.Errorf("redlock: %d of %d servers are ready, %d are needed: %w", good, len(t.tables), t.quorum, several(errs)), errs)
}

// Close implements ledger.Table. It waits for what is under way.
func (t *Table) Close() error {
	t.inbox.close()
	t.wg.Wait()
	var errs []error
	for _, s := range t.tables {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
