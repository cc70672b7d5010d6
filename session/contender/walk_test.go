package contender

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// walk is a contender to which anything happens that may, in any order.
type walk struct {
	*bench
	rnd   *rand.Rand
	kind  backend.Mode
	ws    []*Caller
	renew []renewing
	wrote map[*Caller]int // entries that the store is to be told of
	book  map[*Caller]Entry
	open  bool            // by the journal, something of this node may be in the store
	rows  []ledger.Row    // that the store had
	at    []time.Duration // when
	until time.Duration   // it grants nothing before, as it may have forgotten a lease
	steps []string
}

type renewing struct {
	r      ledger.Renewal
	w      *Caller // nil: of the watchdog
	sentAt time.Duration
}

func newWalk(t *testing.T, seed uint64) *walk {
	k := &walk{rnd: rand.New(rand.NewPCG(seed, 7)), wrote: map[*Caller]int{}, book: map[*Caller]Entry{}}
	k.kind = []backend.Mode{backend.Exclusive, backend.Exclusive, 3}[seed%3]
	k.bench = newBench(t, func(cfg *Config) {
		cfg.Turns = 8
		cfg.RetryMost = 400 * time.Millisecond
		cfg.Restores = seed%2 == 0
		cfg.Exact = seed%5 == 0
		if seed%7 == 0 {
			cfg.Strict, cfg.Turns = true, 1
		}
		if seed%4 == 1 {
			cfg.Retain, cfg.Recall = time.Second, 300*time.Millisecond
		}
		if seed%11 == 0 {
			cfg.Delay = 2 * time.Second
		}
		if seed%6 == 0 {
			cfg.MostWaiting = 3
		}
	})
	k.clock, k.fast = true, seed%4 > 1
	return k
}

func (k *walk) chance(one int) bool { return k.rnd.IntN(one) == 0 }

func (k *walk) fail(format string, args ...any) {
	k.Helper()
	k.Fatalf("%s\nafter %s\nrecord %+v", fmt.Sprintf(format, args...), k.steps, k.row.Record)
}

// does takes the effects of one event.
func (k *walk) does(what string, e Effects) {
	k.Helper()
	k.steps = append(k.steps, what)
	for _, j := range e.Journal {
		k.writes(j)
	}
	if k.did(e); e.Send != nil && e.Send.Writes() && !k.open {
		k.fail("a write, and the journal does not say that something may be in the store")
	}
	if r := e.Renew; r != nil {
		k.renew = append(k.renew, renewing{*r, nil, k.now})
	}
	for _, w := range e.Written {
		if n, asked := k.wrote[w]; !asked || n != w.Entries {
			k.fail("told that %d entries are written, asked for %d, %v", w.Entries, n, asked)
		}
		if mine := k.c.copy.Firm("me"); mine == nil || !slices.ContainsFunc(mine.Callers, func(x ledger.Caller) bool { return x.Fence == w.Fence && x.Entries == w.Entries }) {
			k.fail("told that %d entries of %d are written", w.Entries, w.Fence)
		}
		delete(k.wrote, w)
	}
	k.journalTells()
	k.tellsOnce(e)
	k.sleepsUntilTheTimer()
}

// writes keeps what the journal is told.
func (k *walk) writes(j Entry) {
	_, known := k.book[j.Caller]
	switch j.Kind {
	case Intent, Clear:
		if k.open == (j.Kind == Intent) {
			k.fail("the journal is told %d twice", j.Kind)
		}
		if k.open = j.Kind == Intent; !k.open && k.row.Record.Has("me") && k.until == 0 { // an older record may have it again
			k.fail("the journal is told that nothing is left")
		}
		return
	case LetIn:
		if known {
			k.fail("let in twice")
		}
	default:
		if !known {
			k.fail("the journal is told %d of one whom it does not know", j.Kind)
		}
	}
	if k.book[j.Caller] = j; j.Kind == End {
		delete(k.book, j.Caller)
	}
}

// journalTells: those who have something are those of whom the journal says so, and it says no
// earlier end than theirs.
func (k *walk) journalTells() {
	k.Helper()
	n := 0
	for _, w := range k.c.In() {
		if !w.Holds() {
			continue
		}
		n++
		if j, known := k.book[w]; !known || j.Hold != k.c.Hold() && !k.c.Recovering() || j.Deadline != k.c.LeaseEnd(w) {
			k.fail("one holds %d until %v, the journal says %+v, %v", k.c.Hold(), k.c.LeaseEnd(w), j, known)
		}
	}
	if h := k.row.Record.Hold(k.c.Hold()); n > 0 && h != nil && h.End < k.there(k.c.End()) && k.now >= k.until {
		k.fail("the hold is over at %v, here at %v, which is %v there", h.End, k.c.End(), k.there(k.c.End()))
	}
	if n != len(k.book) {
		k.fail("%d hold, the journal says %d", n, len(k.book))
	}
}

// tellsOnce: who is told that it has to wait waits, and hears it once.
func (k *walk) tellsOnce(e Effects) {
	k.Helper()
	for _, w := range e.Queued {
		if !w.Curious || !w.Waits() {
			k.fail("one is told that it has to wait: %+v", w)
		}
		w.Curious = false // once
	}
	for _, w := range e.Granted {
		if w.phase != granted || w.settle {
			k.fail("one may be told who was not let in: %+v", w)
		}
	}
	for _, x := range e.Ended {
		if x.Caller.Waits() || x.Caller.Holds() {
			k.fail("one is told %v, and goes on", x.Reason)
		}
	}
}

// clone is a copy to which something can be done for a trial.
func (k *walk) clone() *Contender {
	copies := map[*Caller]*Caller{}
	return k.c.Clone(func(w *Caller) *Caller {
		if copies[w] == nil {
			n := *w
			copies[w] = &n
		}
		return copies[w]
	})
}

// sleepsUntilTheTimer: until the timer is due nothing is to be done, and then something is.
func (k *walk) sleepsUntilTheTimer() {
	k.Helper()
	at := k.last.Timer
	if at != 0 && at <= k.now {
		k.fail("the timer is due at %v, it is %v", at, k.now)
	}
	until := at
	if at == 0 {
		until = k.now + time.Hour
	}
	for _, t := range []time.Duration{k.now, k.now + 1 + time.Duration(k.rnd.Int64N(int64(until-k.now))), until - 1} {
		if t >= until {
			continue
		}
		if e := k.clone().Tick(t); something(e) {
			k.fail("at %v the timer is %v, and at %v there is to do %+v", k.now, at, t, e)
		}
	}
}

func something(e Effects) bool {
	return e.Send != nil || e.Renew != nil || e.Jeopardy ||
		len(e.Journal)+len(e.Granted)+len(e.Queued)+len(e.Ended)+len(e.Written)+len(e.Ask) > 0
}

// step has something happen.
func (k *walk) step() {
	c := k.c
	var w *Caller
	if len(k.ws) > 0 {
		w = k.ws[k.rnd.IntN(len(k.ws))]
	}
	switch n := k.rnd.IntN(30); {
	case n < 8 && k.sent != nil:
		k.hears()
	case n < 12 && len(k.announced) > 0:
		k.accepts()
	case n < 15:
		k.comes()
	case n == 15 && w != nil:
		k.does("release", c.Release(k.now, w))
		k.ws = slices.DeleteFunc(k.ws, func(x *Caller) bool { return x == w })
	case n == 16 && w != nil:
		k.does("hurry", c.Hurry(k.now, w))
	case n < 19 && w != nil:
		k.changesLease(w)
	case n == 19 && w != nil:
		k.breaks(w)
	case n < 22:
		k.message()
	case n == 22:
		k.elsewhere()
	case n < 25 && len(k.renew) > 0:
		k.renewed()
	case n == 25 && k.last.Timer != 0 && k.last.Timer-k.now < time.Minute:
		k.now = k.last.Timer
		k.does("timer", c.Tick(k.now))
	case n == 26 && k.chance(3):
		k.restarts()
	case n == 27 && k.c.cfg.Restores && k.chance(8):
		k.goesBack()
	default:
		k.now += time.Duration(k.rnd.Int64N(int64(time.Second >> k.rnd.IntN(8))))
		k.does("tick", c.Tick(k.now))
	}
	k.ws = slices.DeleteFunc(k.ws, func(w *Caller) bool { return w.phase == over })
	k.rows, k.at = append(k.rows, k.row), append(k.at, k.now)
}

// longest is more than any lease of a walk.
const longest = 25 * time.Second

// goesBack: another server takes over, which has not heard of the last writes, and grants nothing until
// what it may have forgotten is over.
func (k *walk) goesBack() {
	k.steps = append(k.steps, "goes back")
	k.row = ledger.Row{}
	if n := len(k.rows); n > 0 && !k.chance(4) {
		k.row = k.rows[max(n-1-k.rnd.IntN(20), 0)]
	}
	k.until, k.sent, k.rows, k.at = k.now+longest, nil, nil, nil
	if k.c.flight != nil {
		k.does("reply(lost)", k.c.Reply(k.now, ledger.Reply{}, backend.ErrUnavailable))
	}
	k.does("resync", k.c.Resync(k.now))
}

// refusal of a request to a store that has gone back.
func (k *walk) refusal() error {
	if left := k.until - k.now; left > 0 && k.sent.Swap != nil && k.sent.Swap.Effects.Grants {
		return &backend.Later{After: left, Err: backend.ErrRefused}
	}
	return nil
}

func (k *walk) comes() {
	w := &Caller{TTL: time.Duration(1+k.rnd.IntN(3)) * 3 * time.Second, Owner: backend.Owner(fmt.Sprint("x:", len(k.steps))), Mode: k.kind}
	if k.kind == backend.Exclusive && k.chance(2) {
		w.Mode = backend.Shared
	}
	if k.chance(40) {
		w.Mode = 5
	}
	w.Fixed, w.NoWait, w.Curious = k.chance(4), k.chance(4), k.chance(2)
	if k.chance(5) {
		w.MinHold = time.Second
	}
	if k.chance(5) {
		w.MaxHold = 4 * time.Second
	}
	k.ws = append(k.ws, w)
	k.does(fmt.Sprintf("enter(%d %v %v)", w.Mode, w.Fixed, w.NoWait), k.c.Enter(k.now, w))
}

// hears has the store answer, or not.
func (k *walk) hears() {
	var r ledger.Reply
	err := []error{nil, nil, nil, nil, nil, backend.ErrUnavailable, backend.ErrRefused, fmt.Errorf("of its own")}[k.rnd.IntN(8)]
	if err == nil {
		err = k.refusal()
	}
	if err == nil || k.chance(3) && !errors.Is(err, backend.ErrRefused) && k.refusal() == nil {
		r = k.carryOut()
		r.Clock = k.there(k.now).Microseconds()
	}
	k.sent = nil
	if err != nil {
		r = ledger.Reply{}
	}
	k.does(fmt.Sprintf("reply(%v)", err), k.c.Reply(k.now, r, err))
}

func (k *walk) accepts() {
	w := k.announced[0]
	k.announced = k.announced[1:]
	was := w.phase == granted
	ok, e := k.c.Accept(k.now, w)
	if ok && !was {
		k.fail("one is told who was not let in")
	}
	k.does(fmt.Sprint("accept ", ok), e)
}

func (k *walk) changesLease(w *Caller) {
	switch k.rnd.IntN(4) {
	case 0:
		n := 1 + k.rnd.IntN(3)
		e := k.c.SetEntries(k.now, w, n)
		if w.Holds() && !w.Kept {
			k.wrote[w] = n
		}
		k.does("entries", e)
	case 1:
		k.does("loosen", k.c.Loosen(k.now, w))
	case 2:
		k.does("describe", k.c.Describe(k.now))
	default:
		r, ok, e := k.c.Prolong(k.now, w, time.Duration(1+k.rnd.IntN(20))*time.Second)
		if ok {
			k.renew = append(k.renew, renewing{r, w, k.now})
		}
		k.does("prolong", e)
	}
}

func (k *walk) renewed() {
	x := k.renew[0]
	k.renew = k.renew[1:]
	var err error
	if !k.row.Renew(x.r.ID, x.r.TTL, k.there(k.now)) {
		err = backend.ErrNotHeld
	}
	if k.chance(4) {
		err = backend.ErrUnavailable
	}
	if x.w == nil {
		k.does(fmt.Sprintf("renewed(%v)", err), k.c.Renewed(k.now, x.r, x.sentAt, err))
	} else {
		k.does(fmt.Sprintf("prolonged(%v)", err), k.c.Prolonged(k.now, x.w, x.r, x.sentAt, err))
	}
}

func (k *walk) breaks(w *Caller) {
	if k.chance(2) {
		k.does("lose", k.c.Lose(k.now, w, ByForce))
	} else if w.Holds() && k.row.Record.Hold(k.c.Hold()) != nil {
		k.steps = append(k.steps, "break")
		k.other(ledger.Op{Verb: ledger.Break, Hold: k.c.Hold(), Caller: w.Fence * backend.Fence(k.rnd.IntN(2))})
	}
}

func (k *walk) message() {
	var r *ledger.Reply
	switch k.rnd.IntN(4) {
	case 0:
		now := k.row.Reply(k.there(k.now))
		now.Clock = k.there(k.now).Microseconds()
		r = &now
	case 1: // one that was long under way
		if n := len(k.rows); n > 0 {
			i := max(n-1-k.rnd.IntN(20), 0)
			was := k.rows[i].Reply(k.there(k.at[i]))
			was.Clock = k.there(k.at[i]).Microseconds()
			r = &was
		}
	}
	switch k.rnd.IntN(7) {
	case 0:
		k.does("deaf", k.c.Deaf(k.now))
	case 1:
		k.does("resync", k.c.Resync(k.now))
	case 2:
		k.does("told", k.c.Told(k.now, map[string]int{"other": k.rnd.IntN(2), "holder": k.rnd.IntN(2)}))
	default:
		kind := []ledger.Kind{ledger.Look, ledger.Waits, ledger.Broken}[k.rnd.IntN(3)]
		k.does(fmt.Sprintf("message(%v %v)", kind, r != nil), k.c.Message(k.now, kind, r))
	}
}

// restarts puts another process in the place of this one, which knows what the journal was told. What
// was sent may have been carried out.
func (k *walk) restarts() {
	if k.sent != nil && k.chance(2) && k.refusal() == nil {
		k.carryOut()
	}
	var past Past
	book := k.book
	k.sent, k.announced, k.renew, k.ws, k.book, k.wrote = nil, nil, nil, nil, map[*Caller]Entry{}, map[*Caller]int{}
	for w, j := range book {
		n := &Caller{Mode: w.Mode, TTL: w.TTL, Fixed: w.Fixed, Owner: w.Owner, Fence: w.Fence, Entries: w.Entries, Since: w.Since,
			Until: w.Until, MaxHoldAt: w.MaxHoldAt, MinHoldAt: w.MinHoldAt, Kept: w.Kept}
		past.ID, past.Mode, past.Deadline = j.Hold, w.Mode, max(past.Deadline, j.Deadline)
		past.Callers = append(past.Callers, n)
		k.ws = append(k.ws, n)
		k.book[n] = j
	}
	var e Effects
	switch {
	case k.open || len(book) > 0:
		k.open = true
		k.c, e = Recover(k.now, k.c.cfg, past)
	default:
		k.c = New(k.c.cfg)
	}
	k.does(fmt.Sprintf("restart(%d)", len(book)), e)
}

// elsewhere has another node do something.
func (k *walk) elsewhere() {
	op := ledger.Op{Node: []string{"other", "holder"}[k.rnd.IntN(2)], Mode: k.kind, Since: k.there(k.now).Microseconds(), Strict: k.c.cfg.Strict}
	op.Retains = k.chance(2)
	if k.chance(2) {
		op.Want = 1
	} else {
		op.Verb = ledger.Leave
	}
	k.steps = append(k.steps, fmt.Sprintf("%s(%v %d)", op.Node, op.Verb, op.Want))
	k.other(op)
}

// ends has everybody else leave, the store answer, and all give back what they get.
func (k *walk) ends() {
	for _, node := range []string{"other", "holder"} {
		k.other(ledger.Op{Node: node, Verb: ledger.Leave})
	}
	k.does("resync", k.c.Resync(k.now))
	k.now = max(k.now, k.until, k.c.retryAt)
	k.does("tick", k.c.Tick(k.now))
	k.obeys()
	for _, w := range k.ws {
		if w.NoWait && w.Waits() && k.c.recall.until <= k.now && k.c.Known(w) {
			k.fail("one who does not want to wait has no answer: %+v", w)
		}
	}
	for range 400 {
		held := slices.IndexFunc(k.ws, (*Caller).Holds)
		switch {
		case k.sent != nil || len(k.announced) > 0:
			k.obeys()
		case held >= 0:
			k.does("release", k.c.Release(k.now, k.ws[held]))
			k.ws = slices.Delete(k.ws, held, held+1)
		case k.last.Timer != 0:
			k.now = k.last.Timer
			k.does("timer", k.c.Tick(k.now))
		}
	}
	for _, w := range k.ws {
		if w.phase != over {
			k.fail("one waits for ever: %+v", w)
		}
	}
	if k.open || !k.c.Quiet() || k.c.Owes() || k.last.Timer != 0 || k.row.Record.Has("me") {
		k.fail("something is left: by the journal %v, timer %v", k.open, k.last.Timer)
	}
}

// obeys has the store answer until nothing is asked, and tells all who were let in.
func (k *walk) obeys() {
	for n := 0; k.sent != nil || len(k.announced) > 0; n++ {
		if n > 200 {
			k.fail("it asks for ever")
		}
		if k.sent == nil {
			k.accepts()
			continue
		}
		r := k.carryOut()
		r.Clock = k.there(k.now).Microseconds()
		k.does("reply", k.c.Reply(k.now, r, nil))
	}
}

// Whatever happens, in whatever order: the journal knows who has what, nothing is due before the
// timer, and who asks is answered.
func TestAnythingMayHappen(t *testing.T) {
	did := map[string]int{}
	for seed := range uint64(400) {
		k := newWalk(t, seed)
		for range 120 {
			k.step()
		}
		k.ends()
		for _, s := range k.steps {
			did[s]++
		}
	}
	t.Log(did)
}
