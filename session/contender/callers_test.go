package contender

import (
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// kinds are those of the entries of the last effects.
func (b *bench) kinds() (ks []EntryKind) {
	for _, e := range b.last.Journal {
		ks = append(ks, e.Kind)
	}
	return ks
}

// The journal hears of a caller when it is told, and of the end only then.
func TestJournalHasWhoWasTold(t *testing.T) {
	b := newBench(t, nil)
	w := exclusive()
	w.MaxHold = time.Minute
	b.enter(w)
	b.answer()
	if slices.Contains(b.kinds(), LetIn) {
		t.Error("in the journal before it is told")
	}
	b.now += time.Second
	b.accept(w)
	es := b.last.Journal
	if len(es) != 1 || es[0].Kind != LetIn || es[0].Caller != w || es[0].Hold != w.Fence || w.MaxHoldAt != b.now+time.Minute {
		t.Fatalf("on being told: %+v, until %v", es, w.MaxHoldAt)
	}
	b.did(b.c.Release(b.now, w))
	if es := b.last.Journal; len(es) == 0 || es[0].Kind != End || es[0].Reason != 0 {
		t.Errorf("on its release: %+v", es)
	}
	b.settle()

	w = b.enter(exclusive())
	b.answer()
	b.did(b.c.Release(b.now, w)) // it was not told
	if slices.Contains(b.kinds(), End) {
		t.Errorf("an end of what the journal does not have: %+v", b.last.Journal)
	}
}

// A name is kept for MinHold from when its holder was told, as it can see, not from when the store was asked.
func TestMinHoldCountsFromWhenItIsTold(t *testing.T) {
	b := newBench(t, nil)
	w := exclusive()
	w.MinHold = 2 * time.Second
	b.enter(w)
	b.answer()
	b.now += time.Second
	b.accept(w)
	b.now += 1500 * time.Millisecond
	if b.did(b.c.Release(b.now, w)); !w.Kept {
		t.Error("the name is free 1.5 s after its holder was told, want 2 s")
	}
}

func TestJournalSaysWhyAHoldWasLost(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer().accept(w)
	b.did(b.c.Lose(b.now, w, ByForce))
	if es := b.last.Journal; len(es) == 0 || es[0].Kind != End || es[0].Reason != ByForce {
		t.Errorf("the journal has %+v", es)
	}
}

func TestDeadlineIsJournaledForEachWhoWasTold(t *testing.T) {
	b := newBench(t, nil)
	ws := []*Caller{b.enter(shared()), b.enter(shared()), b.enter(shared())}
	b.settle()
	b.accept(ws[0])
	b.accept(ws[1])
	b.now += ttl / 3
	e := b.did(b.c.Tick(b.now))
	b.did(b.c.Renewed(b.now, *e.Renew, b.now, nil))
	var got []*Caller
	for _, e := range b.last.Journal {
		if e.Kind == Deadline && e.Deadline == b.c.End() {
			got = append(got, e.Caller)
		}
	}
	if !slices.Equal(got, ws[:2]) {
		t.Errorf("a later deadline of %v, want that of the two who were told", got)
	}
}

func TestHurry(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1})
	first, second := b.enter(exclusive()), b.enter(exclusive())
	b.settle()
	b.did(b.c.Hurry(b.now, second))
	if len(b.last.Ended) != 1 || b.last.Ended[0] != (Ended{second, Held}) {
		t.Fatalf("behind another it ended with %+v", b.last.Ended)
	}
	b.did(b.c.Hurry(b.now, first))
	if len(b.last.Ended) != 0 {
		t.Fatal("turned away without an answer of the store")
	}
	b.settle()
	if len(b.last.Ended) != 1 || b.last.Ended[0] != (Ended{first, Held}) || b.row.Record.Has("me") {
		t.Errorf("it ended with %+v, the store has %+v", b.last.Ended, b.row.Record)
	}
}

// One in a hurry may get what became free meanwhile.
func TestHurryGetsWhatIsFree(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1})
	w := b.enter(exclusive())
	b.settle()
	b.other(ledger.Op{Verb: ledger.Leave}) // and the message is lost
	b.did(b.c.Hurry(b.now, w))
	b.settle()
	if !b.accept(w) {
		t.Errorf("it ended with %+v, the store has %+v", b.last.Ended, b.row.Record)
	}
}

func TestMostWaiting(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MostWaiting = 1 })
	w := b.enter(exclusive())
	b.answer().accept(w) // one who is let in does not wait
	b.enter(exclusive())
	late := b.enter(exclusive())
	if len(b.last.Ended) != 1 || b.last.Ended[0] != (Ended{late, Full}) || len(b.c.Waiting()) != 1 {
		t.Fatalf("one too many ended with %+v; %d wait", b.last.Ended, len(b.c.Waiting()))
	}
	try := exclusive()
	try.NoWait = true
	if b.enter(try); len(b.last.Ended) != 1 || b.last.Ended[0].Reason != Held {
		t.Errorf("one who does not want to wait ended with %+v", b.last.Ended)
	}
}

func TestFixedLeaseUnderTheWatchdog(t *testing.T) {
	b := newBench(t, nil)
	w := exclusive()
	w.Fixed = true
	b.enter(w)
	b.answer().accept(w)
	b.now += ttl / 2
	if e := b.did(b.c.Tick(b.now)); e.Renew != nil {
		t.Fatal("a fixed lease is renewed")
	}
	e := b.did(b.c.Loosen(b.now, w))
	if e.Renew == nil || w.Fixed || w.Until != 0 || !slices.Contains(b.kinds(), Lease) {
		t.Fatalf("not under the watchdog: %+v, %+v", e, w)
	}
	b.did(b.c.Renewed(b.now, *e.Renew, b.now, nil))
	b.now += ttl * 3 / 4
	if b.did(b.c.Tick(b.now)); !w.Holds() {
		t.Error("it ended by its own time")
	}
}

func TestDescribe(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer()
	b.did(b.c.Release(b.now, w))
	b.settle()
	if b.did(b.c.Describe(b.now)); b.sent != nil {
		t.Fatal("written although nothing is held")
	}
	w = b.enter(exclusive())
	b.answer().accept(w)
	w.About = "another"
	b.did(b.c.Describe(b.now))
	b.settle()
	if got := b.row.Record.Firm("me").Callers[0].About; got != "another" {
		t.Errorf("the store says %q", got)
	}
}

// What is to be written while a write is under way is not in it.
func TestEntriesThatComeWhileOthersAreWritten(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer().accept(w)
	b.did(b.c.SetEntries(b.now, w, 2))
	b.did(b.c.SetEntries(b.now, w, 3))
	if b.answer(); len(b.last.Written) != 0 || b.sent == nil {
		t.Fatalf("written %v, the store has %+v", b.last.Written, b.row.Record.Firm("me").Callers)
	}
	if b.answer(); len(b.last.Written) != 1 || b.row.Record.Firm("me").Callers[0].Entries != 3 {
		t.Errorf("written %v, the store has %+v", b.last.Written, b.row.Record.Firm("me").Callers)
	}
}

func TestEntriesThatWereNotWritten(t *testing.T) {
	for name, err := range map[string]error{"refused": backend.ErrRefused, "no answer": backend.ErrUnavailable, "another was first": nil} {
		b := newBench(t, nil)
		w := b.enter(exclusive())
		b.answer().accept(w)
		b.did(b.c.SetEntries(b.now, w, 2))
		b.sent = nil
		if err == nil {
			b.row.Version = "another"
		}
		b.did(b.c.Reply(b.now, b.row.Reply(b.now), err))
		b.now += time.Second
		b.did(b.c.Tick(b.now))
		if b.answer(); len(b.last.Written) != 1 || b.row.Record.Firm("me").Callers[0].Entries != 2 {
			t.Errorf("%s: written %v, the store has %+v", name, b.last.Written, b.row.Record.Firm("me").Callers)
		}
	}
}

func curious(w *Caller) *Caller {
	w.Curious = true
	return w
}

func TestQueuedIsToldOnce(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1})
	told := 0
	count := func(want int, when string) {
		t.Helper()
		if told += len(b.last.Queued); told != want {
			t.Errorf("%s: told %d times, want %d", when, told, want)
		}
	}
	b.enter(curious(exclusive()))
	count(0, "nothing is known")
	b.answer()
	count(0, "the node joins")
	for b.sent != nil {
		b.answer()
		count(1, "the store has answered")
	}
	b.enter(curious(exclusive()))
	count(2, "behind another")
	b.enter(exclusive())
	count(2, "one that is not curious")
	b.now += ttl
	b.did(b.c.Tick(b.now))
	for b.sent != nil {
		b.answer()
		count(2, "later answers")
	}
	b.did(b.c.Release(b.now, b.c.Waiting()[0]))
	b.enter(curious(exclusive()))
	count(3, "one more")
}

// One who may come in by the answer that is under way does not have to wait.
func TestQueuedIsNotToldToWhoComesIn(t *testing.T) {
	b := newBench(t, nil)
	first, second := b.enter(curious(shared())), b.enter(curious(shared()))
	queued := len(b.last.Queued)
	for b.sent != nil {
		b.answer()
		queued += len(b.last.Queued)
	}
	if !b.accept(first) || !b.accept(second) || queued != 0 {
		t.Errorf("%d were told that they have to wait", queued)
	}
	writer := b.enter(curious(exclusive()))
	if !slices.Equal(b.last.Queued, []*Caller{writer}) {
		t.Errorf("told to %v that they wait, want the writer", b.last.Queued)
	}
}

func TestReasonsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for r := Held; r <= Full; r++ {
		if s := r.String(); s == "none" || seen[s] {
			t.Errorf("reason %d is called %q", r, s)
		}
		seen[r.String()] = true
	}
}

// last is the newest fence under the exclusive hold that there is; 0: none.
func last(b *bench) backend.Fence {
	if f, alone := b.c.Last(); alone {
		return f
	}
	return 0
}

func TestWhatIsShown(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Retain = time.Second })
	w := b.enter(exclusive())
	if b.c.Known(w) || !w.Waits() || b.c.Owes() || last(b) != 0 {
		t.Error("something is known before the store has answered")
	}
	b.answer().accept(w)
	next := b.enter(exclusive())
	if !b.c.Known(next) || !w.Holds() || last(b) != w.Fence || len(b.c.In()) != 1 || !slices.Equal(b.c.Waiting(), []*Caller{next}) {
		t.Errorf("of one who holds and one who waits: %v, %v, %d", b.c.In(), b.c.Waiting(), last(b))
	}
	if h := b.c.Record().Firm("me"); h == nil || h.End != b.now+ttl {
		t.Errorf("the record has %+v", h)
	}
	b.did(b.c.Release(b.now, next))
	b.did(b.c.Release(b.now, w))
	if b.c.Owes() || w.phase != over || next.Waits() {
		t.Error("what is retained counts as owed, or who has given up waits")
	}
	b.now += time.Second
	b.did(b.c.Tick(b.now))
	if !b.c.Owes() {
		t.Error("a hold that is being given back is not owed")
	}
	b.sent = nil
	if b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrUnavailable)); !b.c.Owes() || !b.c.Unknown() {
		t.Error("no answer: nothing is owed")
	}
	b.now += time.Second
	b.did(b.c.Tick(b.now))
	b.settle()
	if b.c.Owes() || b.c.Unknown() || last(b) != 0 {
		t.Error("all is given back, and something is owed")
	}
}

// Where an offer to another node is watched, nothing is owed.
func TestWatchedOfferIsNotOwed(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer().accept(w)
	b.other(ledger.Op{Want: 1})
	b.did(b.c.Message(b.now, ledger.Waits, nil))
	b.did(b.c.Release(b.now, w))
	b.settle()
	if b.row.Record.Offer("other") == nil || b.c.Owes() || b.c.Quiet() {
		t.Errorf("owed %v, the store has %+v", b.c.Owes(), b.row.Record)
	}
}

// One who does not want to wait gets what is free in the store, although callers of its
// node have the name, too.
func TestTryBesideOthersOfTheNode(t *testing.T) {
	for what, others := range map[string]int{"free": 0, "full, as is known": 1, "full, as is not known": 2} {
		b := newBench(t, nil)
		taken := func(when int) {
			if others == when {
				b.other(ledger.Op{Want: 2, Mode: permits})
			}
		}
		taken(1)
		w := b.enter(permit())
		b.settle()
		b.accept(w)
		taken(2)
		try := permit()
		try.NoWait = true
		b.enter(try)
		b.settle()
		if got := b.accept(try); got != (others == 0) || !got && try.phase != over {
			t.Errorf("%s: let in %v, it waits %v", what, got, try.Waits())
		}
	}
}

// Those who were let in and could not be told in time are let in again in the order in which
// they came.
func TestNotToldInTime(t *testing.T) {
	b := newBench(t, nil)
	first := b.enter(permit())
	b.answer().accept(first)
	var late []*Caller
	for range 2 {
		w := permit()
		w.Fixed, w.TTL = true, ttl/10
		late = append(late, b.enter(w))
	}
	b.settle()
	b.now += ttl / 5
	if told := late[0].Fence; b.accept(late[0]) || late[0].Fence <= told || late[0].Fence >= late[1].Fence {
		t.Errorf("the first has fence %d after %d, the second %d", late[0].Fence, told, late[1].Fence)
	}
}

// Several who do not want to wait ask together: as many get a permit as are free.
func TestTriesAtOnce(t *testing.T) {
	b := newBench(t, nil)
	var tries []*Caller
	for range permits + 2 {
		try := permit()
		try.NoWait = true
		tries = append(tries, b.enter(try))
	}
	b.settle()
	for i, try := range tries {
		if got := b.accept(try); got != (i < int(permits)) || !got && try.phase != over {
			t.Errorf("try %d: let in %v, it waits %v", i, got, try.Waits())
		}
	}
}

// One who does not want to wait is turned away at once where others of its node have to wait
// before it, or one of them wants the name alone.
func TestTryBehindThoseWhoWait(t *testing.T) {
	b := newBench(t, nil)
	refused := func(what string) {
		t.Helper()
		try := shared()
		try.NoWait = true
		if e := b.did(b.c.Enter(b.now, try)); e.Send != nil || len(e.Ended) != 1 || e.Ended[0] != (Ended{try, Held}) {
			t.Errorf("behind %s: ended with %+v, asked %+v", what, e.Ended, e.Send)
		}
	}
	b.other(ledger.Op{Want: 1})
	w := b.enter(shared())
	b.settle()
	refused("one who has to wait")
	b.did(b.c.Release(b.now, w))
	b.settle()
	b.enter(exclusive())
	refused("one who wants it alone, and has asked")
}

// One who does not want to wait is not turned away because of one who gave up before it.
func TestTryBehindOneWhoGaveUp(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1})
	w := b.enter(exclusive())
	b.settle()
	b.other(ledger.Op{Verb: ledger.Leave}) // and the message is lost
	b.did(b.c.Release(b.now, w))           // which is being written
	try := exclusive()
	try.NoWait = true
	b.enter(try)
	b.settle()
	if !b.accept(try) {
		t.Errorf("it ended with %+v, the store has %+v", b.last.Ended, b.row.Record)
	}
}

// One who gives up while its first request has no answer leaves something behind.
func TestWriteWithoutAnswerIsOwed(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.sent = nil
	b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrUnavailable))
	if b.c.Owes() {
		t.Error("owed by one who waits")
	}
	if b.did(b.c.Release(b.now, w)); !b.c.Owes() {
		t.Error("the first write may still come, and nothing is owed")
	}
	b.now += time.Second
	b.did(b.c.Tick(b.now))
	if b.settle(); b.c.Owes() {
		t.Error("owed for ever")
	}
}

// Who is refused does not hold up those behind it who may come in.
func TestRefusedMakesWay(t *testing.T) {
	b := newBench(t, nil)
	first, hurried, behind := b.enter(shared()), b.enter(exclusive()), b.enter(shared())
	b.did(b.c.Hurry(b.now, hurried))
	if b.answer(); !slices.Equal(b.last.Ended, []Ended{{hurried, Held}}) {
		t.Fatalf("ended %+v, want one who is refused", b.last.Ended)
	}
	if !slices.Equal(b.last.Granted, []*Caller{first, behind}) {
		t.Errorf("one still waits behind who was refused, until %v from now", b.last.Timer-b.now)
	}
}
