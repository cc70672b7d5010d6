package contender

import (
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// fails has the store answer with err, and lets the time until the next request pass.
func (b *bench) fails(err error) {
	b.Helper()
	b.sent = nil
	b.did(b.c.Reply(b.now, ledger.Reply{}, err))
	b.now += time.Second
	b.did(b.c.Tick(b.now))
}

// A look without an answer is one that is still to come.
func TestLookWithoutAnswer(t *testing.T) {
	for _, err := range []error{backend.ErrRefused, backend.ErrUnavailable} {
		b := held(t, exclusive(), nil)
		b.did(b.c.Message(b.now, ledger.Look, nil))
		if b.fails(err); b.sent == nil || b.sent.Writes() {
			t.Errorf("%v: sent %+v, want a look", err, b.sent)
		}
	}
}

// giving is a bench whose node gives back what its reader had, for a writer that has given up.
func giving(t *testing.T) *bench {
	reader := shared()
	b := held(t, reader, nil)
	writer := b.enter(exclusive())
	b.settle()
	b.did(b.c.Release(b.now, reader))
	b.did(b.c.Release(b.now, writer))
	return b
}

// As long as a write that gives the hold back may be carried out, nobody comes in under it,
// whatever is said of later writes.
func TestNobodyComesInWhileTheGivingBackMayCome(t *testing.T) {
	for name, answer := range map[string]func(b *bench){
		"the next is refused":      func(b *bench) { b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrRefused)) },
		"the next changes nothing": func(b *bench) { b.did(b.c.Reply(b.now, b.row.Reply(b.now), nil)) },
	} {
		b := giving(t)
		first := b.sent
		b.fails(backend.ErrUnavailable)
		late := b.enter(shared())
		b.sent = nil
		answer(b)
		if b.accept(late) {
			t.Errorf("%s: let in", name)
		}
		b.sent = first
		if b.carryOut(); b.row.Record.Firm("me").Mode == backend.Shared {
			t.Fatalf("%s: nothing was given back: %+v", name, b.row.Record)
		}
	}
}

// What could not be given back is there for who comes next.
func TestHoldThatCouldNotBeGivenBack(t *testing.T) {
	for name, answer := range map[string]func(b *bench){
		"refused": func(b *bench) { b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrRefused)) },
		"another was first": func(b *bench) {
			b.row.Version = "another"
			b.did(b.c.Reply(b.now, b.row.Reply(b.now), nil))
		},
	} {
		b := giving(t)
		late := b.enter(shared())
		if answer(b); !b.accept(late) {
			t.Errorf("%s: not let in", name)
		}
	}
}

// A name that was lost is kept from everybody, whatever was being written meanwhile; one that was
// given back before is not.
func TestLostNameIsKeptFromAll(t *testing.T) {
	breaks := func(b *bench, w *Caller) { b.did(b.c.Lose(b.now, w, ByForce)) }
	for name, tt := range map[string]struct {
		lose   func(b *bench, w *Caller)
		barred bool
	}{
		"told": {breaks, true},
		"a write is under way": {func(b *bench, w *Caller) {
			b.did(b.c.SetEntries(b.now, w, 2))
			breaks(b, w)
		}, true},
		"another was first": {func(b *bench, w *Caller) {
			breaks(b, w)
			b.other(ledger.Op{Want: 1})
		}, true},
		"kept for its min_hold": {func(b *bench, w *Caller) {
			w.MinHoldAt = b.now + time.Minute
			b.did(b.c.Release(b.now, w))
			breaks(b, w)
		}, true},
		"broken by another node": {func(b *bench, w *Caller) {
			b.other(ledger.Op{Verb: ledger.Break, Hold: b.c.Hold(), Caller: w.Fence})
			b.did(b.c.Message(b.now, ledger.Broken, nil))
		}, true},
		"given back": {func(b *bench, w *Caller) {
			b.did(b.c.Release(b.now, w))
			breaks(b, w)
		}, false},
	} {
		w := exclusive()
		b := held(t, w, func(c *Config) { c.Delay = time.Minute })
		next := b.enter(exclusive())
		tt.lose(b, w)
		b.settle()
		barred := slices.ContainsFunc(b.row.Record.Holds, func(h ledger.Hold) bool { return h.Node == "" })
		if barred != tt.barred || b.accept(next) == tt.barred || w.Holds() {
			t.Errorf("%s: the record is %+v", name, b.row.Record)
		}
	}
}

// A message that a hold was broken ends nothing, but says why it is lost if it is.
func TestMessageThatAHoldWasBroken(t *testing.T) {
	for why, answered := range map[Reason]bool{ByForce: false, Expired: true} {
		w := exclusive()
		b := held(t, w, nil)
		b.did(b.c.Message(b.now, ledger.Broken, nil))
		if answered {
			b.settle() // it is there
		}
		b.now = b.c.Deadline(w)
		if b.did(b.c.Tick(b.now)); !slices.Equal(b.last.Ended, []Ended{{w, why}}) {
			t.Errorf("answered %v: ended are %+v, want %v", answered, b.last.Ended, why)
		}
	}
}

// A permit that an older record does not have is given to nobody, although one is let go of here.
func TestPermitOfWhichAnOlderRecordDoesNotKnow(t *testing.T) {
	b := newBench(t, nil)
	first := b.enter(permit())
	b.settle()
	one := b.row
	second := b.enter(permit())
	b.settle()
	if !b.accept(first) || !b.accept(second) {
		t.Fatal("not granted")
	}
	b.row = one
	b.did(b.c.Resync(b.now))
	b.answer() // and writes both down again
	b.other(ledger.Op{Want: 2, Mode: permits})
	b.did(b.c.Release(b.now, second))
	if late := b.enter(permit()); b.accept(late) {
		t.Errorf("let in as the fourth of %d: the store has %+v", permits, b.row.Record)
	}
}

// A write prolongs the lease as a renewal does, and undoes none.
func TestWriteProlongs(t *testing.T) {
	for name, renewed := range map[string]bool{"a write": false, "a renewal after it": true} {
		w := exclusive()
		b := held(t, w, nil)
		b.now += time.Second
		b.did(b.c.SetEntries(b.now, w, 2))
		want := b.now + ttl - ttl/100
		if renewed {
			b.now += time.Second
			b.prolong(w, ttl)
			want += time.Second
		}
		if b.answer(); b.c.Deadline(w) != want || !renewed && !slices.Contains(b.kinds(), Deadline) {
			t.Errorf("%s: until %v, want %v; journaled %v", name, b.c.Deadline(w), want, b.kinds())
		}
	}
}

// A fixed lease ends at its time, which is that of its holder alone, whatever is written.
func TestFixedLeaseBesideOthers(t *testing.T) {
	long, fixed := shared(), shared()
	long.TTL, fixed.Fixed = 10*ttl, true
	b := held(t, long, nil)
	b.now += time.Second
	b.enter(fixed)
	want := b.now + ttl - ttl/100
	if b.settle(); !b.accept(fixed) || b.c.Deadline(fixed) != want || b.last.Journal[0].Deadline != want || b.last.Timer != want {
		t.Fatalf("it lasts until %v, want %v; timer %v, journaled %+v", b.c.Deadline(fixed), want, b.last.Timer, b.last.Journal)
	}
	b.now += time.Second
	b.did(b.c.SetEntries(b.now, fixed, 2))
	b.settle()
	b.now = want
	if b.did(b.c.Tick(b.now)); !slices.Equal(b.last.Ended, []Ended{{fixed, Expired}}) {
		t.Errorf("at its end, ended are %+v", b.last.Ended)
	}
}

// A hold lasts no longer than its max_hold, nor than its lease.
func TestDeadlineIsTheFirstEnd(t *testing.T) {
	for _, d := range []time.Duration{time.Second, 2 * ttl} {
		w := exclusive()
		w.MaxHold = d
		b := held(t, w, nil)
		if want := b.now + min(d, ttl-ttl/100); b.c.Deadline(w) != want {
			t.Errorf("with a max_hold of %v it lasts until %v, want %v", d, b.c.Deadline(w), want)
		}
	}
}

// Something is to be done as long as not all that was there is known to be gone.
func TestNotQuiet(t *testing.T) {
	for name, begin := range map[string]func(b *bench){
		"a look is under way": func(b *bench) { b.did(b.c.Message(b.now, ledger.Look, nil)) },
		"a look was refused": func(b *bench) {
			b.did(b.c.Message(b.now, ledger.Look, nil))
			b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrRefused))
		},
		"one waits, and was refused": func(b *bench) {
			b.enter(exclusive())
			b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrRefused))
		},
		"a write may still come": func(b *bench) {
			w := b.enter(exclusive())
			b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrUnavailable))
			b.did(b.c.Release(b.now, w))
			b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrUnavailable))
		},
		"what was lost is to be kept from all": func(b *bench) {
			w := b.enter(exclusive())
			b.answer().accept(w)
			b.did(b.c.Lose(b.now, w, ByForce))
			b.row = ledger.Row{Version: "another"} // has nothing of ours
			b.answer()
			b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrRefused))
		},
		"what an earlier process had is not known": func(b *bench) {
			var e Effects
			b.c, e = Recover(b.now, b.c.cfg, Past{})
			b.did(e)
			b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrRefused))
		},
	} {
		b := newBench(t, func(c *Config) { c.Delay = time.Minute })
		if begin(b); b.c.Quiet() {
			t.Errorf("%s: quiet", name)
		}
	}
}

// What a process had that is started again is lost, or less of it, if the store says so; the
// one who waits gets it then, and nobody counts on what was not written.
func TestRestartWhenTheStoreSaysOtherwise(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(b *bench)
		left   int
	}{
		"it is there": {func(*bench) {}, 3},
		"it is gone":  {func(b *bench) { b.row = ledger.Row{} }, 0},
		"it has another hold of the node": {func(b *bench) {
			h := b.row.Record.Firm("me")
			h.ID += 64
			h.Block, b.row.Record.Top = h.ID, h.ID+64
		}, 0},
		"others have two of the permits": {func(b *bench) {
			b.row.Record.Firm("me").Count = 1
			b.other(ledger.Op{Want: 2, Mode: permits})
		}, 1},
	} {
		b := newBench(t, nil)
		var ws []*Caller
		for range permits {
			ws = append(ws, b.enter(permit()))
		}
		b.settle()
		for _, w := range ws {
			b.accept(w)
		}
		past := Past{ID: b.c.Hold(), Mode: permits, Deadline: b.c.End(), Callers: ws}
		b.now += time.Second
		tt.change(b)
		var e Effects
		b.c, e = Recover(b.now, b.c.cfg, past)
		b.did(e)
		b.row.Version = "another"
		if b.answer(); !b.c.Recovering() || b.c.End() != past.Deadline {
			t.Errorf("%s: it counts on a write that was not carried out, until %v", name, b.c.End()-past.Deadline)
		}
		if b.answer(); len(b.c.In()) != tt.left || tt.left > 0 && !slices.Contains(b.kinds(), Deadline) {
			t.Errorf("%s: %d are in, want %d; journaled %v; the store has %+v", name, len(b.c.In()), tt.left, b.kinds(), b.row.Record)
		}
	}
}

// What a process that is started again takes up lasts in the store for as long as was told, and
// what is kept for its min_hold ends with that.
func TestRestartKeepsWhatWasTold(t *testing.T) {
	for name, kept := range map[string]bool{"held": false, "kept": true} {
		w := exclusive()
		b := held(t, w, nil)
		fence := w.Fence
		w.Kept, w.MinHoldAt = kept, b.now+ttl
		past := Past{ID: b.c.Hold(), Deadline: b.now + 10*ttl, Callers: []*Caller{w}}
		var e Effects
		b.c, e = Recover(b.now, b.c.cfg, past)
		b.did(e)
		if b.settle(); !w.Holds() || b.row.Record.Firm("me").End < past.Deadline || last(b) != fence {
			t.Fatalf("%s: the store has %+v, the newest fence is %d", name, b.row.Record, last(b))
		}
		b.now += ttl
		b.did(b.c.Tick(b.now))
		if b.settle(); w.Holds() == kept {
			t.Errorf("%s: it holds %v after its min_hold", name, w.Holds())
		}
		b.did(b.c.Release(b.now, w))
		if b.settle(); b.row.Record.Has("me") || b.row.Record.Last != fence {
			t.Errorf("%s: given back it is %+v, want the newest fence %d", name, b.row.Record, fence)
		}
	}
}

// What is lost by its max_hold while the gateway is started again is kept from all, at once.
func TestRestartAfterMaxHold(t *testing.T) {
	w := exclusive()
	w.MaxHold = time.Second
	b := held(t, w, func(c *Config) { c.Delay = time.Minute })
	b.other(ledger.Op{Want: 1})
	past := Past{ID: b.c.Hold(), Deadline: b.c.End(), Callers: []*Caller{w}}
	b.now = w.MaxHoldAt
	var e Effects
	b.c, e = Recover(b.now, b.c.cfg, past)
	b.did(e)
	if b.settle(); w.Holds() || b.row.Record.Offer("other") != nil {
		t.Errorf("the record is %+v", b.row.Record)
	}
}

// A hold that was lost is not told that its entries are written, by whatever write it is seen.
func TestLostIsNotWritten(t *testing.T) {
	w := exclusive()
	b := held(t, w, func(cfg *Config) { cfg.Restores = true })
	b.did(b.c.SetEntries(b.now, w, 2))
	b.other(ledger.Op{Verb: ledger.Break, Hold: b.c.Hold()})
	for b.sent != nil {
		if b.answer(); len(b.last.Written) > 0 {
			t.Errorf("told that it is written, with %v ended", b.last.Ended)
		}
	}
	if w.Holds() {
		t.Error("the broken hold goes on")
	}
}
