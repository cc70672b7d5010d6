package redlock

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
)

// propose has some nodes accept a ballot for r of which the sender does not hear.
func proposeTo(t *testing.T, b *Backend, r backend.Request, nodes ...*node) order {
	t.Helper()
	o := b.firstBallot(r, "0")
	o.Attempt, o.Turn = r.Seq, o.ballot
	for _, n := range nodes {
		if v := n.run(t.Context(), acquireScript, b.message(o)); v.reply.Text(0) != "granted" {
			t.Fatalf("acquire = %v, %v", v.reply, v.err)
		}
	}
	return o
}

// What takes back a ballot that has failed travels beside the next ballot, and may come
// after it. So nobody is granted a name by a ballot that failed before.
func TestLateUndo(t *testing.T) {
	t.Parallel()
	_, backends := twoOver(t, 3)
	a, ctx := backends[0], t.Context()
	for _, m := range []backend.Mode{backend.Exclusive, backend.Shared, 2} {
		r := backend.Request{Name: m.String(), Slot: "1", Seq: 1, Owner: "o:1", TTL: 30 * time.Second, Turns: 1, Mode: m}
		o := proposeTo(t, a, r, a.nodes[1:]...)
		got, err := a.Acquire(ctx, r)
		if err != nil || !got.Granted {
			t.Fatalf("%s: acquire = %+v, %v", m, got, err)
		}
		o.Hold, o.force = o.ballot, true
		for _, n := range a.nodes {
			if v := n.run(ctx, cancelScript, a.message(o)); v.err != nil {
				t.Fatal(v.err)
			}
		}
		r.Mode, r.Slot = backend.Exclusive, ""
		if other, err := backends[1].Acquire(ctx, r); err == nil {
			t.Errorf("%s: granted with fence %d beside fence %d", m, other.Hold, got.Hold)
		}
	}
}

// No two ballots of a request are the same, also where the floor of the nodes is ahead
// of the clock: what takes back the first would take back the second.
func TestBallotsDiffer(t *testing.T) {
	t.Parallel()
	b, err := Open(t.Context(), Config{URL: "redlock://a,b,c"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	ahead := backend.Fence(time.Now().Add(time.Hour).UnixMicro())
	r := backend.Request{Name: "x", Seq: 1}
	first, second := b.propose(r, ahead), b.propose(r, ahead)
	if first != ahead || second <= first {
		t.Errorf("ballots %d and %d, want %d and a larger one", first, second, ahead)
	}
	if b.forget(r); len(b.trials) != 0 {
		t.Errorf("%d ballots are kept of a request that is over", len(b.trials))
	}
	b.trials[place{"old", ""}] = trial{at: boottime.Now() - 2*trialLife}
	b.maxTrials = 1
	if b.propose(r, 0); len(b.trials) != 1 {
		t.Errorf("%d ballots are kept, want one of the last minute", len(b.trials))
	}
}

// Taking back a ballot takes back the ones before it, too, of which a node may have been
// told alone; not what the request has won by a later one.
func TestUndoTakesEarlierBallots(t *testing.T) {
	t.Parallel()
	servers, backends := twoOver(t, 3)
	a, ctx := backends[0], t.Context()
	for _, m := range []backend.Mode{backend.Exclusive, backend.Shared, 2} {
		r := backend.Request{Name: m.String(), Slot: "1", Seq: 1, Owner: "o:1", TTL: 30 * time.Second, Turns: 1, Mode: m}
		r.Attempt = r.Seq
		proposeTo(t, a, r, a.nodes[0])
		o := a.firstBallot(r, "0")
		a.undo(ctx, o, &round{b: a, votes: []vote{{n: a.nodes[0], reply: reply{"granted"}}}})
		for began := time.Now(); servers[0].Client().Exists(ctx, r.Name).Val() != 0; time.Sleep(5 * time.Millisecond) {
			if time.Since(began) > 10*time.Second {
				t.Fatalf("%s: the first ballot is still there", m)
			}
		}
	}
}

// A permit that is left was not found in all tries: that is no reason to wait until a
// lease ends.
func TestWaitForAPermitThatIsLeft(t *testing.T) {
	b := &Backend{}
	for range 3 {
		b.nodes = append(b.nodes, &node{})
	}
	for left, most := range map[string]time.Duration{"1": calm, "": 30 * time.Second} {
		e := election{round: &round{b: b}}
		for _, n := range b.nodes {
			e.votes = append(e.votes, vote{n: n, reply: reply{"held", "", int64(0), int64(30_000), int64(0), "o:1", "a", "5", "5", "", "2", int64(1), left}})
		}
		a, next, err := e.refusal()
		if err != nil || next.permit != left || a.Wait > most || left == "" && a.Wait != most {
			t.Errorf("permits left %q: wait %v, then permit %q, %v, want %v at most", left, a.Wait, next.permit, err, most)
		}
	}
}
