package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// What the record shows of a node is as of its last write. Whoever has to know exactly asks
// the nodes that hold the name or wait for it, by a message, and they answer by another one.

const (
	// AskTime is how long an answer is waited for.
	AskTime = 100 * time.Millisecond
	// mostAsked is how many questions to this node wait to be answered.
	mostAsked = 256
	// answerBatch is how many answers go out at once.
	answerBatch = 64
)

// Answer to Engine.Ask.
type Answer struct {
	// Reply is what the store has.
	Reply ledger.Reply
	// Told is what other nodes that hold the name or wait for it have said of themselves.
	Told map[string]Telling
	// Silent are those that have said nothing in time. What Reply has of them is as of their
	// last write.
	Silent []string
}

// Ask reads the record of a name, and has the other nodes in it say how things are there. Of
// this node Told has nothing.
func (e *Engine) Ask(ctx context.Context, lock string) (Answer, error) {
	looking, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	r, err := e.table.Look(looking, lock)
	if err != nil {
		return Answer{}, err
	}
	others := othersIn(&r.Record, e.cfg.Node)
	told := e.asks.ask(ctx, lock, others)
	silent := slices.DeleteFunc(others, func(node string) bool { _, ok := told[node]; return ok })
	return Answer{Reply: r, Told: told, Silent: silent}, nil
}

// othersIn are the nodes but this one of which something is in r.
func othersIn(r *ledger.Record, node string) (others []string) {
	add := func(n string) {
		if n != node && n != "" && !slices.Contains(others, n) {
			others = append(others, n)
		}
	}
	for _, h := range r.Holds {
		add(h.Node)
	}
	for _, w := range r.Queue {
		add(w.Node)
	}
	return others
}

// asks are the questions of this node to others, and those of others to it.
type asks struct {
	e      *Engine
	theirs crew[asked]

	mu   sync.Mutex           // guards the field below
	ours map[string]*question // by their IDs
}

// question of this node about a lock.
type question struct {
	lock   string
	silent map[string]bool // who has not answered yet
	told   chan Telling    // has room for all
}

// asked is a question of another node.
type asked struct {
	lock string
	text string
	at   time.Duration
}

// tell is the text of a Tell: who asks, and a number that nobody can guess.
type tell struct {
	Node string `json:"node"`
	ID   string `json:"id"`
}

// told is the text of a Told.
type told struct {
	ID string `json:"id"`
	Telling
}

func (a *asks) start(e *Engine) {
	a.e, a.ours = e, map[string]*question{}
	a.theirs = crew[asked]{wg: &e.wg, workers: 1, batch: answerBatch, most: mostAsked, do: a.answer}
}

// heard takes a message, if it is one of these.
func (a *asks) heard(m ledger.Addressed) bool {
	switch m.Kind {
	case ledger.Tell:
		a.theirs.add(asked{m.Name, m.Text, a.e.cfg.Clock()})
	case ledger.Told:
		a.told(m)
	default:
		return false
	}
	return true
}

// ask has nodes asked, and waits for what they tell.
func (a *asks) ask(ctx context.Context, lock string, nodes []string) map[string]Telling {
	got := make(map[string]Telling, len(nodes))
	if len(nodes) == 0 || !a.e.table.Info().Push {
		return got
	}
	id := rand.Text()
	q := &question{lock: lock, silent: map[string]bool{}, told: make(chan Telling, len(nodes))}
	text := mustJSON(tell{a.e.cfg.Node, id})
	ms := make([]ledger.Addressed, len(nodes))
	for i, n := range nodes {
		q.silent[n] = true
		ms[i] = ledger.Addressed{Name: lock, Message: ledger.Message{Node: n, Kind: ledger.Tell, Text: text}}
	}
	a.mu.Lock()
	a.ours[id] = q
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.ours, id)
	}()
	ctx, cancel := context.WithTimeout(ctx, AskTime)
	defer cancel()
	if a.e.table.Send(ctx, ms) != nil {
		return got
	}
	for len(got) < len(nodes) {
		select {
		case t := <-q.told:
			got[t.Node] = t
		case <-ctx.Done():
			return got
		}
	}
	return got
}

// recall asks nodes whether they use n, for its contender.
func (n *Name) recall(nodes []string) {
	uses := map[string]int{}
	for node, t := range n.e.asks.ask(context.Background(), n.name, nodes) {
		uses[node] = t.Holds + t.Waiters
	}
	n.apply(Push, func(c *contender.Contender, now time.Duration) contender.Effects { return c.Told(now, uses) }).Launch()
}

// told takes an answer. One to a question that nobody has asked, or of a node that nobody
// has asked, is dropped.
func (a *asks) told(m ledger.Addressed) {
	var t told
	if json.Unmarshal([]byte(m.Text), &t) != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.ours[t.ID]; q != nil && q.lock == m.Name && q.silent[t.Node] {
		delete(q.silent, t.Node)
		q.told <- t.Telling
	}
}

// answer tells how things are here. What was asked too long ago nobody wants to know any
// more. A name that is not known here gets no answer: there is nothing to say about it, or,
// while this node takes up what the process before it has held, nothing yet.
func (a *asks) answer(batch []asked) {
	var ms []ledger.Addressed
	for _, q := range batch {
		var who tell
		if a.e.cfg.Clock()-q.at >= AskTime || json.Unmarshal([]byte(q.text), &who) != nil || who.Node == "" {
			continue
		}
		if t, ok := a.e.telling(q.lock); ok {
			ms = append(ms, ledger.Addressed{Name: q.lock, Message: ledger.Message{Node: who.Node, Kind: ledger.Told, Text: t.text(who.ID)}})
		}
	}
	if len(ms) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), AskTime)
	defer cancel()
	_ = a.e.table.Send(ctx, ms) // who hears nothing says so
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always can be
	}
	return string(b)
}
