package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// refused waits until n is refused new names for a quarantine, and takes one each time until then.
func (n *node) refused(t *testing.T, prefix string) {
	t.Helper()
	within(t, "it grants nothing new", func() bool {
		prefix += "x"
		_, err := n.Swap(t.Context(), n.swapOf(prefix, ledger.Reply{}, ledger.Op{Want: 1}))
		return errors.As(err, new(*backend.Later))
	})
}

// The address leads to another server, by which it is trusted after a while, and back: as where
// Sentinels name a wrong master, and come right. The first one has been a master all the time, and
// has not heard of what the other one granted.
func TestTableQuarantineAfterAnotherServer(t *testing.T) {
	t.Parallel()
	first, other := redistest.Start(t), redistest.Start(t)
	link := redistest.Proxy(t, first.Addr)
	url := "redis://" + link.Addr
	a, b := openImpatient(t, url, "a", redis.GuardQuarantine), openImpatient(t, url, "b", redis.GuardQuarantine)
	lead := func(s *redistest.Server) {
		link.Lead(s.Addr)
		link.SetPresent(redistest.CloseOnReply)
	}
	granted := func(n *node, name string) func() bool {
		return func() bool {
			r, err := n.Swap(t.Context(), n.swapOf(name, ledger.Reply{}, ledger.Op{Want: 1}))
			return err == nil && r.Written
		}
	}
	a.takes("a")
	b.takes("b")
	lead(other)
	within(t, "the other server is trusted", granted(a, "x"))
	within(t, "the other server is trusted", granted(b, "y"))
	lead(first)
	for n, name := range map[*node]string{a: "y", b: "x"} {
		var err error
		within(t, "the first server answers", func() bool {
			_, err = n.Swap(t.Context(), n.swapOf(name, ledger.Reply{}, ledger.Op{Want: 1}))
			return err == nil || errors.As(err, new(*backend.Later))
		})
		wantLater(t, err)
	}
	// Nor does a gateway that knows nothing of all this.
	c := openNode(t, first.URL(), "c", redis.GuardQuarantine)
	_, err := c.try("z", ledger.Op{Want: 1})
	wantLater(t, err)
	within(t, "the first server is trusted again", granted(a, "z"))
	within(t, "the first server is trusted again", granted(b, "w"))
}

// A gateway goes along when its address leads to another server, although the one before goes on to
// answer over the connections that there are: others hold there what they take here.
func TestTableFollowsItsAddress(t *testing.T) {
	t.Parallel()
	first, other := redistest.Start(t), redistest.Start(t)
	link := redistest.Proxy(t, first.Addr)
	a := openNode(t, "redis://"+link.Addr, "a", redis.GuardQuarantine)
	a.takes("a")
	link.Lead(other.Addr)
	var err error
	within(t, "the other server is met", func() bool {
		_, err = a.Swap(t.Context(), a.swapOf("x", ledger.Reply{}, ledger.Op{Want: 1})) // it may end with the connection that is left
		return errors.As(err, new(*backend.Later))
	})
	wantLater(t, err)
}

// A lease is renewed over a connection that was made for requests where no other can be made, as where
// the name of the server cannot be looked up.
func TestRenewsWhereNoConnectionCanBeMade(t *testing.T) {
	t.Parallel()
	link := redistest.Proxy(t, redistest.Start(t).Addr)
	a := openNode(t, "redis://"+link.Addr, "a", redis.GuardNone)
	h := a.takes("n")
	link.Shut()
	errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "n", ID: h.ID, TTL: time.Minute}})
	if err := errors.Join(append(errs, err)...); err != nil {
		t.Error(err)
	}
}

// A server whose keys were all deleted has forgotten what it granted. Its gateways see that, each
// for itself or by what another has left there, and so does one that comes while they wait; who
// held a name has it written down again.
func TestTableQuarantineAfterAFlush(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := openNode(t, s.URL(), "a", redis.GuardQuarantine), openNode(t, s.URL(), "b", redis.GuardQuarantine)
	h := a.takes("held")
	b.takes("b")
	if err := s.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	a.refused(t, "a-")
	b.refused(t, "b-")
	_, err := openNode(t, s.URL(), "c", redis.GuardQuarantine).try("c", ledger.Op{Want: 1})
	wantLater(t, err)
	if r, err := a.try("held", ledger.Op{Verb: ledger.Reclaim, Hold: h.ID, Keep: 1, Restore: true, Floor: h.ID + 1<<30}); err != nil || !r.Written {
		t.Errorf("the hold that was forgotten: %+v, %v", r, err)
	}
	within(t, "the quarantine is over", func() bool {
		r, err := b.Swap(t.Context(), b.swapOf("after", ledger.Reply{}, ledger.Op{Want: 1}))
		return err == nil && r.Written
	})
	if mark := s.Client().Get(t.Context(), "lockgw:guard:{0}").Val(); len(mark) != 80 {
		t.Errorf("the mark of the gateways is %q, want the id of the server", mark)
	}
}
