package voting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// row is what one server has of a name. It is not changed once it was read.
type row struct {
	vote
	server         int
	local          ledger.Version // that the server's own Table gives it
	seen, refusing string         // as in the server's Reply
	record         ledger.Record
	clock          int64
	at             time.Duration // when it was read
}

func readRow(name string, server int, r ledger.Reply, at time.Duration) (*row, error) {
	x := &row{server: server, seen: r.Seen, refusing: r.Refusing, local: r.Version, record: r.Record, clock: r.Clock, at: at}
	if r.Record.Vote == "" && (r.Version == "" || !r.Record.InUse()) {
		return x, nil
	}
	v, err := parseVote(r.Record.Vote)
	if err != nil {
		return nil, fmt.Errorf("%w: the record of %s on one of the servers was not written by redlock: %w", backend.ErrRefused, name, err)
	}
	x.vote = v
	return x, nil
}

// locked: the row has the same locks as was, which nobody has deleted or taken since.
func (r *row) locked(was *row) bool {
	return slices.EqualFunc(r.record.Holds, was.record.Holds, func(a, b ledger.Hold) bool { return a.ID == b.ID })
}

// value is a record that is proposed.
type value struct {
	first    ballot
	past     []ballot
	record   ledger.Record // without holders outside lockgw
	outsider *ledger.Hold  // the one that a majority has; nil: none
	stamps   []ledger.Stamp
	ended    []backend.Fence
	messages []ledger.Message
	// rest is how much longer each hold may last on any of the servers that were read.
	rest map[backend.Fence]time.Duration
	// evicts, if it is set, are the locks of programs outside lockgw that go, as each server
	// has told of them.
	evicts []string
	// frees: it grants nothing, and nobody queues by it.
	frees bool
}

// nack is the ErrRefused of a server that has promised another round to accept nothing
// older.
type nack struct{ promised ballot }

func (n *nack) Error() string { return "it takes part in another round about the name" }
func (n *nack) Unwrap() error { return backend.ErrRefused }

var (
	// errOwn: a hold that the write ends is not over by the clock of this server, its lock is
	// not as the record has it, or was deleted since the record was written there.
	errOwn = fmt.Errorf("%w: a hold is not over there, or somebody outside lockgw has the lock", backend.ErrRefused)
	// errBusy: the row has changed again and again.
	errBusy = fmt.Errorf("%w: others write the same name", backend.ErrRefused)
)

// acceptor is an acceptor of CASPaxos that its clients carry out: its state is a row of one
// server, which each of them changes by compare-and-set. So a request that arrives late
// does nothing, unless the row is still as it was when the request was made.
type acceptor struct {
	table  ledger.Table
	name   string
	server int
	clock  func() time.Duration
	row    *row // as it was last seen; nil: not known
}

func (a *acceptor) take(r ledger.Reply, err error) error {
	if err == nil {
		a.row, err = readRow(a.name, a.server, r, a.clock())
	} else if !errors.Is(err, backend.ErrRefused) {
		a.row = nil
	}
	return err
}

func (a *acceptor) look(ctx context.Context) error { return a.take(a.table.Look(ctx, a.name)) }

// promise has the server accept nothing below b any more. One without a record says by the Top of
// the row, which is of a new record of its own Table, above which fences it has given none.
func (a *acceptor) promise(ctx context.Context, b ballot) error {
	_, err := a.write(ctx, func(r *row) (ledger.Swap, vote, error) {
		v := r.vote
		if !v.promised.less(b) {
			return ledger.Swap{}, v, &nack{v.promised}
		}
		v.promised = b
		return ledger.Swap{Record: r.record.Clone(), Effects: ledger.Effects{Frees: true}}, v, nil
	})
	return err
}

// accept has the server take v over at b.
func (a *acceptor) accept(ctx context.Context, b ballot, v *value) (unheard []string, err error) {
	r, err := a.write(ctx, func(r *row) (ledger.Swap, vote, error) {
		if b.less(r.promised) {
			return ledger.Swap{}, vote{}, &nack{r.promised}
		}
		s := ledger.Swap{Record: v.record.Clone(), Absolute: true, Effects: ledger.Effects{Stamps: slices.Clone(v.stamps), Ended: v.ended, Messages: v.messages, Frees: v.frees}}
		for _, h := range s.Record.Holds {
			was := r.record.Hold(h.ID)
			if was == nil && v.first == r.first && slices.Contains(r.holds, h.ID) { // somebody may have seen the version without it
				return ledger.Swap{}, vote{}, errOwn
			}
			if !stamped(v.stamps, h.ID) && v.rest[h.ID] > 0 && (was == nil || was.End <= 0) {
				s.Effects.Stamps = append(s.Effects.Stamps, ledger.Stamp{ID: h.ID, TTL: v.rest[h.ID]}) // this server has missed it, or its renewals
			}
		}
		switch outside := r.record.Hold(0); {
		case outside == nil:
		case v.evicts != nil && v.evicts[a.server] != "":
			s.Effects.Evicts, s.Seen = true, v.evicts[a.server]
		case v.evicts != nil || len(s.Record.Holds) > 0:
			return ledger.Swap{}, vote{}, errOwn
		default: // what the server's own Table wants to see
			s.Record.Holds = append(s.Record.Holds, *outside)
		}
		took := vote{promised: b.next(), accepted: b, first: v.first, past: v.past}
		for _, h := range v.record.Holds {
			took.holds = append(took.holds, h.ID)
		}
		return s, took, nil
	})
	return r.Unheard, err
}

func stamped(all []ledger.Stamp, id backend.Fence) bool {
	return slices.ContainsFunc(all, func(s ledger.Stamp) bool { return s.ID == id })
}

// remembered is how long a server keeps a record at least that nobody uses. No request is
// under way for so long.
const remembered = 30 * time.Second

// write changes the row as next says, which is asked again when somebody else was faster.
// If the error is an ErrRefused, nothing was changed and nothing will be.
func (a *acceptor) write(ctx context.Context, next func(*row) (ledger.Swap, vote, error)) (ledger.Reply, error) {
	if a.row == nil {
		if err := a.look(ctx); err != nil {
			return ledger.Reply{}, unsent(err)
		}
	}
	for range 8 {
		was := a.row
		s, v, err := next(was)
		if err != nil {
			return ledger.Reply{}, err
		}
		s.Record.Vote = v.String()
		for _, h := range s.Record.Holds {
			// A record whose leases are long over is about to be forgotten.
			if x := was.record.Hold(h.ID); h.ID != 0 && x != nil && x.End < -remembered && !stamped(s.Effects.Stamps, h.ID) {
				s.Effects.Stamps = append(s.Effects.Stamps, ledger.Stamp{ID: h.ID, TTL: time.Millisecond})
			}
		}
		// The holder may have renewed its lease at this server since it sent a write that has been
		// on its way for long, and counts on it.
		s.Effects.Lengthens = slices.ContainsFunc(s.Effects.Stamps, func(st ledger.Stamp) bool { return was.record.Hold(st.ID) != nil })
		// A server that may have forgotten what it has promised and accepted takes no part
		// at all: that is what Grants stands for here.
		s.Effects.Grants = true
		s.Effects.Frees = s.Effects.Frees && was.local != "" // a full server need not learn of names that it does not know
		s.Name, s.Base = a.name, was.local
		r, err := a.table.Swap(ctx, s)
		written := err == nil && r.Written
		switch err := a.take(r, err); {
		case err != nil:
			return ledger.Reply{}, err
		case written:
			return r, nil
		case a.row.local == was.local && a.row.locked(was):
			return ledger.Reply{}, errOwn
		}
	}
	return ledger.Reply{}, errBusy
}

// unsent: whatever became of a request that came before a write, the write was not sent.
func unsent(err error) error {
	if errors.Is(err, backend.ErrRefused) {
		return err
	}
	return fmt.Errorf("%w: %s", backend.ErrUnreachable, err.Error())
}
