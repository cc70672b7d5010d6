package tabletest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

func (e *env) join() {
	e.want(e.a, backend.Exclusive, 1)
	before := e.look(e.b)
	r, err := e.b.Join(e.ctx(), e.name, ledger.Entry{Node: e.b.id, Want: 1}, 0)
	if err != nil {
		e.Fatal(err)
	}
	e.is(r, "a | b")
	if r.Version == before.Version {
		e.Error("the queue changed, and the version did not")
	}
	e.hears(e.a, ledger.Waits)
	again, err := e.b.Join(e.ctx(), e.name, ledger.Entry{Node: e.b.id, Want: 1}, 0)
	if err != nil || again.Version != r.Version {
		e.Errorf("to join twice changes the record: %+v, %v", again, err)
	}
	e.is(again, "a | b")
	e.lasts(again, e.a, 30*time.Second)
	r, err = e.node("c").Join(e.ctx(), e.name, ledger.Entry{Node: "c-" + e.run, Mode: 4, Want: 1}, 0)
	if !e.a.Info().Modes {
		if !errors.Is(err, backend.ErrRefused) {
			e.Errorf("a semaphore is not refused: %+v, %v", r, err)
		}
	} else if err != nil || r.Version != again.Version {
		e.Errorf("a semaphore joined the queue of a lock: %+v, %v", r, err)
	}
}

// joinNobody: a join that comes when nobody has the name leaves nothing behind.
func (e *env) joinNobody() {
	never := e.name + "-never"
	if r, err := e.b.Join(e.ctx(), never, ledger.Entry{Node: e.b.id, Want: 1}, 0); err != nil || r.Version != "" || len(r.Record.Queue) != 0 {
		e.Errorf("there is %+v, %v", r, err)
	}
	e.want(e.a, backend.Exclusive, 1)
	left := e.leave(e.a)
	r, err := e.b.Join(e.ctx(), e.name, ledger.Entry{Node: e.b.id, Want: 1}, 0)
	if err != nil || r.Version != left.Version {
		e.Errorf("there is %+v, %v, want version %s", r, err, left.Version)
	}
	e.is(r, "|")
}

// joinDelayed: a name that lock.delay alone keeps is of the kind of the first that joins.
func (e *env) joinDelayed() {
	e.needsModes()
	join := func(id string, m backend.Mode) ledger.Reply {
		r, err := e.node(id).Join(e.ctx(), e.name, ledger.Entry{Node: id + "-" + e.run, Mode: m, Want: 1}, 0)
		if err != nil {
			e.Fatal(err)
		}
		return r
	}
	permits := e.want(e.a, 2, 1)
	e.written(e.op(e.a, ledger.Op{Verb: ledger.Leave, Hold: permits.Record.Firm(e.a.id).ID, Bar: time.Minute}))
	if r := join("c", backend.Exclusive); r.Record.Size != 0 {
		e.Errorf("one waits for a lock, and the name is a semaphore of %d", r.Record.Size)
	}
	e.is(join("d", 2), " | c")
	e.is(join("f", backend.Exclusive), " | c f")
}

// told: when somebody wrote of its callers stays with what it wrote, and with what it joined.
func (e *env) told() {
	e.written(e.op(e.a, ledger.Op{Want: 1, At: 1234567890123456}))
	if _, err := e.b.Join(e.ctx(), e.name, ledger.Entry{Node: e.b.id, Want: 1, Waiters: 3, At: 1234567890123457}, 0); err != nil {
		e.Fatal(err)
	}
	r := e.look(e.b)
	if h, q := r.Record.Firm(e.a.id), r.Record.Entry(e.b.id); h.At != 1234567890123456 || q.At != 1234567890123457 || q.Waiters != 3 {
		e.Errorf("there is %+v and %+v", h, q)
	}
}

// unheard: a message to a node that is gone is told as such, once the store has noticed.
func (e *env) unheard() {
	gone, name, tries := e.node("g"), e.name, 0
	e.reached(e.a, gone)
	if err := gone.Close(); err != nil {
		e.Fatal(err)
	}
	e.until(func() bool {
		tries++
		e.name = fmt.Sprint(name, "-", tries)
		e.want(e.a, backend.Exclusive, 1)
		waits := e.step(gone, e.look(e.a), ledger.Op{Want: 1}) // written by a, as if gone had done so before
		if r, err := e.a.Swap(e.ctx(), waits); err != nil || !r.Written {
			e.Fatal(r, err)
		}
		r := e.leave(e.a)
		if len(r.Unheard) > 0 && !slices.Equal(r.Unheard, []string{gone.id}) {
			e.Errorf("not heard by %v, want %s", r.Unheard, gone.id)
		}
		return len(r.Unheard) > 0
	})
}

// joinNew: who makes a record is told its fences, however soon another node joins it.
func (e *env) joinNew() {
	c := e.node("c")
	for i := range 30 {
		e.name = fmt.Sprintf("tabletest:%s:new:%d", e.run, i)
		swap := e.step(e.a, ledger.Reply{}, ledger.Op{Want: 1, Lapse: true})
		var wg sync.WaitGroup
		joined := make(chan struct{})
		for _, n := range []*node{e.b, c} {
			wg.Go(func() {
				for {
					r, err := n.Join(e.ctx(), e.name, ledger.Entry{Node: n.id, Mode: backend.Exclusive, Want: 1}, 0)
					if err == nil && r.Record.Entry(n.id) != nil {
						return
					}
					select {
					case <-joined:
						return
					default:
					}
				}
			})
		}
		r, err := e.a.Swap(e.ctx(), swap)
		if err != nil {
			e.Error(err)
		}
		close(joined)
		wg.Wait()
		is := e.look(e.b)
		if got, want := r.Record.Firm(e.a.id), is.Record.Firm(e.a.id); r.Written && (got == nil || want == nil || got.ID != want.ID || got.Block != want.Block) {
			e.Fatalf("it is told that it has %+v, and has %+v", got, want)
		}
	}
}
