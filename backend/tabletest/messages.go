package tabletest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// hears waits until n was told k about the name of the test.
func (e *env) hears(n *node, k ledger.Kind) ledger.Addressed {
	e.Helper()
	end := time.After(time.Minute)
	for {
		n.mu.Lock()
		i := slices.IndexFunc(n.got, func(m ledger.Addressed) bool { return m.Name == e.name && m.Kind == k })
		var m ledger.Addressed
		if i >= 0 {
			m = n.got[i]
			n.got = slices.Delete(n.got, i, i+1)
		}
		n.mu.Unlock()
		if i >= 0 {
			return m
		}
		select {
		case <-n.was:
		case <-end:
			e.Fatalf("%s was not told %d about %s", n.id, k, e.name)
		}
	}
}

// reached waits until to hears what from sends: it may have to subscribe first.
func (e *env) reached(from, to *node) {
	e.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		m := ledger.Addressed{Name: e.name, Message: ledger.Message{Node: to.id, Kind: ledger.Waits}}
		if err := from.Send(e.ctx(), []ledger.Addressed{m}); err != nil {
			e.Fatal(err)
		}
		select {
		case <-to.was:
		case <-time.After(20 * time.Millisecond):
		}
		to.mu.Lock()
		heard := slices.ContainsFunc(to.got, func(m ledger.Addressed) bool { return m.Kind == ledger.Waits })
		to.mu.Unlock()
		if heard {
			return
		}
	}
	e.Fatalf("%s hears nothing of %s", to.id, from.id)
}

func (e *env) messages() {
	e.want(e.a, backend.Exclusive, 1)
	e.want(e.b, backend.Exclusive, 1)
	e.hears(e.a, ledger.Waits)
	left := e.leave(e.a)
	m := e.hears(e.b, ledger.Look)
	if m.Node != e.b.id {
		e.Errorf("b hears %+v", m)
	}
	if m.Reply != nil && (m.Reply.Version != left.Version || !m.Reply.Record.Same(&left.Record)) {
		e.Errorf("the message brings %+v, written was %+v", m.Reply, left)
	}
	if m.Reply != nil {
		if o := m.Reply.Record.Offer(e.b.id); o == nil || o.End <= 0 || o.End > 21*time.Second {
			e.Errorf("the message brings the offer %+v", o)
		}
	}
	if err := e.a.Send(e.ctx(), []ledger.Addressed{{Name: e.name, Message: ledger.Message{Node: e.b.id, Kind: ledger.Broken}}}); err != nil {
		e.Fatal(err)
	}
	e.hears(e.b, ledger.Broken)
	e.a.mu.Lock()
	defer e.a.mu.Unlock()
	if i := slices.IndexFunc(e.a.got, func(m ledger.Addressed) bool { return m.Kind != ledger.Resync && m.Node != e.a.id }); i >= 0 {
		e.Errorf("a hears what is for others: %+v", e.a.got[i])
	}
}

// texts: what a node is asked and answers arrives as it was sent, and nothing too long is.
func (e *env) texts() {
	e.reached(e.a, e.b)
	full := strings.Repeat("x", ledger.MaxText)
	of := func(k ledger.Kind, text string) ledger.Addressed {
		return ledger.Addressed{Name: e.name, Message: ledger.Message{Node: e.b.id, Kind: k, Text: text}}
	}
	for _, m := range []ledger.Addressed{
		of(ledger.Tell, `{"q":"1 2 \u00fc ü"}`), of(ledger.Told, "  spaces, a\nline and 'quotes\" "), of(ledger.Told, full), of(ledger.Tell, ""),
	} {
		if err := e.a.Send(e.ctx(), []ledger.Addressed{m}); err != nil {
			e.Fatal(err)
		}
		if got := e.hears(e.b, m.Kind); got.Text != m.Text || got.Name != m.Name || got.Node != e.b.id {
			e.Errorf("sent %+v, b hears %+v", m, got)
		}
	}
	for _, bad := range []ledger.Addressed{of(ledger.Tell, full+"x"), of(ledger.Look, "x")} {
		if err := e.a.Send(e.ctx(), []ledger.Addressed{of(ledger.Look, ""), bad}); !errors.Is(err, backend.ErrInvalid) {
			e.Errorf("a text of %d in kind %d: %v", len(bad.Text), bad.Kind, err)
		}
	}
	if err := e.a.Send(e.ctx(), []ledger.Addressed{of(ledger.Broken, "")}); err != nil {
		e.Fatal(err)
	}
	e.hears(e.b, ledger.Broken)
	e.b.mu.Lock()
	defer e.b.mu.Unlock()
	if slices.ContainsFunc(e.b.got, func(m ledger.Addressed) bool { return m.Kind == ledger.Look }) {
		e.Error("some of what was refused was sent")
	}
}
