package ledger

import (
	"context"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// A Table is what a store has to be able to do. It knows no rule: it compares,
// writes, and passes messages on.
//
// Every method may be called by many goroutines at once. backend.ErrUnavailable: there
// was no answer by the end of ctx, and whether the request was carried out is unknown;
// it may still be carried out later. backend.ErrRefused: nothing was changed.
type Table interface {
	// Swap writes a record in place of the one that has the version Base, and all its
	// Effects with it, in one atomic step. If another version is there, or a hold in
	// Ended is not over by the store's clock, or the lock that programs outside lockgw
	// see is not as the record at Base has it, nothing is changed. The Reply has what
	// is there now in either case.
	//
	// The version of a written record has never been used before for this name, not
	// even if the record vanished in between or the store failed over. Where there was
	// no record, every fence in the new one counts from Swap.Floor or the store's
	// clock in microseconds, whichever is larger, unless Swap.Absolute.
	//
	// With Effects.Evicts, the lock that programs outside lockgw see is deleted, and they
	// are told, if it is what Swap.Seen says; else nothing is changed. backend.ErrConflict:
	// there was nothing of which Seen could say what it is; nothing was changed.
	Swap(ctx context.Context, s Swap) (Reply, error)
	// Join puts a node at the end of the queue, with a new version, whatever the
	// present one, and tells all who hold the name. If it is in the queue, or nobody has
	// the name, nothing changes. The fences of a new record, which there is where a program
	// outside lockgw has the name, begin at floor at least.
	Join(ctx context.Context, name string, e Entry, floor backend.Fence) (Reply, error)
	// Look reads.
	Look(ctx context.Context, name string) (Reply, error)
	// Renew has each hold that still is one, and no offer, last for TTL from now on,
	// or longer if it did already; the version stays. The errors are in the order of
	// rs: nil, backend.ErrNotHeld, or ErrUnavailable or ErrRefused of one alone; the
	// second result is set when there is no answer at all.
	Renew(ctx context.Context, rs []Renewal) ([]error, error)
	// Send passes messages on that go with no write. backend.ErrInvalid: a Text is longer
	// than MaxText, or of a message that has none, and nothing was sent.
	Send(ctx context.Context, ms []Addressed) error
	// Listen has the messages to this node delivered to f, which must not block. It is
	// called once, before any other method. A Resync says that messages may have been
	// missed.
	Listen(f func(Addressed))
	// List reads names that begin with prefix, about limit of them, in no order.
	// cursor is "" at first, then what the last call returned; "" is returned at the
	// end. backend.ErrPartly: names are missing.
	List(ctx context.Context, prefix, cursor string, limit int) (rows []Named, next string, err error)
	// Ping asks whether the store can serve. backend.ErrPartly: some.
	Ping(ctx context.Context) error
	// Node is the id of the node that the Table belongs to.
	Node() string
	// Info tells what the store can promise. It does not change. Without Push no message
	// arrives.
	Info() backend.Info
	// Close ends what the Table has started. What is stored stays.
	Close() error
}

// Swap of one record for another.
type Swap struct {
	Name    string
	Base    Version // that was seen; "": there was no record
	Record  Record
	Effects Effects
	// Floor is where the fences of a new record begin at least.
	Floor backend.Fence
	// Absolute: the fences are as they stand, although there was no record. So it is
	// with a hold that the store had forgotten.
	Absolute bool
	// Seen, where the swap Evicts, is that of the Reply that it was computed from.
	Seen string
}

// Relaxed: if a crash of the store takes the write back, somebody waits for a lease to run out,
// or has to tell a node once more, and nothing else. So it is with what only queues, offers or
// gives back; not with what begins or prolongs a hold, and not with one that is ended by force.
func (s *Swap) Relaxed() bool {
	if s.Effects.Grants {
		return false
	}
	for _, m := range s.Effects.Messages {
		if m.Kind == Broken {
			return false
		}
	}
	for _, h := range s.Record.Holds {
		if _, begins := LeaseOf(s.Effects.Stamps, h.ID); begins && !h.Offered {
			return false
		}
	}
	return true
}

// Fits: by r, its answer, there is what s was to be written over, and what it ends is over.
func (s *Swap) Fits(r *Reply) bool {
	for _, id := range s.Effects.Ended {
		if h := r.Record.Hold(id); h != nil && h.End > 0 {
			return false
		}
	}
	return r.Version == s.Base
}

// Version of a record. "" is no record at all. A version is never used twice.
type Version string

// Reply is what a store has of a name once it has carried out a request.
type Reply struct {
	Version Version
	// Record has as End how long each hold lasts from the moment of the reply on.
	Record Record
	// Written: the Swap was carried out.
	Written bool
	// Clock is the store's, in microseconds since 1970; 0: it has none.
	Clock int64
	// Seen is by what the lock of a program outside lockgw is told from another: kind, value
	// and lease. It is opaque, and has no secret in it. "": there is none, or it may be no
	// lock at all. Look and a Swap that was not written tell.
	Seen string
	// Deleted are the holds that are not in Record because somebody outside lockgw has
	// deleted or taken the lock: the store has not forgotten them.
	Deleted []backend.Fence
	// Unheard are nodes to which a message of the write went that nobody received.
	Unheard []string
	// Refusing says why the store grants nothing new under the name, with how long; "": it
	// does. Look tells.
	Refusing string
}

// Renewal of one lease.
type Renewal struct {
	Name string
	ID   backend.Fence // of the hold
	TTL  time.Duration
}

// Groups are the indexes of rs by key, at most so many in a group.
func Groups(rs []Renewal, most int, key func(Renewal) int) (groups [][]int) {
	filling := map[int]int{} // the group to which the next one of a key comes
	for i, r := range rs {
		k := key(r)
		g, ok := filling[k]
		if !ok || len(groups[g]) == most {
			g = len(groups)
			groups, filling[k] = append(groups, nil), g
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// Addressed is a message about one name. Reply, if there is one, is the record as it
// was when the message was sent.
type Addressed struct {
	Name string
	Message
	Reply *Reply
}

// Named is a record in a list.
type Named struct {
	Name string
	Reply
}
