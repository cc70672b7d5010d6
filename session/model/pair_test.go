package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/memory"
)

// reply of the store in memory.
type reply struct {
	backend.Answer
	err error
}

func (p *pair) real(b *memory.Backend, r request) reply {
	ctx := context.Background()
	q := backend.Request{
		Name: "x", Slot: p.slot(r.By - 1), Seq: uint64(r.Seq), Hold: p.fences[r.Hold], Block: p.fences[r.Block],
		Attempt: uint64(r.Attempt), Owner: backend.Owner(fmt.Sprint("owner:", r.Owner)), Count: int(r.Count),
		TTL: time.Duration(p.m.Lease) * tick, Turns: int(cmp.Or(r.Turns, p.m.Turns)), Queue: r.Queue, Turn: p.turn(r.Turn),
	}
	switch r.Verb {
	case acquire:
		return asReply(b.Acquire(ctx, q))
	case confirm:
		return asReply(b.Confirm(ctx, q))
	case extend:
		return asReply(b.Extend(ctx, q))
	case release:
		return asReply(b.Release(ctx, q))
	case cancel:
		return reply{err: b.Cancel(ctx, q)}
	case renew:
		errs, _ := b.Renew(ctx, []backend.Renewal{{Name: "x", Slot: q.Slot, Hold: q.Hold, TTL: q.TTL}})
		return reply{err: errs[0]}
	default:
		return reply{err: b.Describe(ctx, q)}
	}
}

func asReply(a backend.Answer, err error) reply { return reply{a, err} }

func (p *pair) turn(f fence) backend.Fence {
	if f.Block == 0 {
		return 0
	}
	return p.fences[f.Block] + backend.Fence(f.N) - 1
}

// learn that the model's fence f is that of the store: the same for ever.
func (p *pair) learn(stored backend.Fence, f int8) {
	if stored == 0 || f == 0 {
		return
	}
	if known := p.fences[f]; known != 0 && known != stored {
		p.t.Errorf("fence %d of the model was %d and is %d", f, known, stored)
	}
	p.fences[f] = stored
}

// words for an answer of the store in memory, and for one of the model.
func (p *pair) words(a reply) string {
	switch {
	case errors.Is(a.err, backend.ErrStale):
		return "stale"
	case errors.Is(a.err, backend.ErrNotHeld):
		return "not held"
	case a.Granted:
		return fmt.Sprintf("granted %d %d turns=%d others=%v", a.Hold, a.Block, a.Turns, a.Others)
	case a.Others:
		return "others"
	case a.Queued, errors.Is(a.err, backend.ErrHeld):
		return fmt.Sprintf("queued=%v wait=%v provisional=%v", a.Queued, a.Wait, a.Provisional)
	default:
		return fmt.Sprintf("done wait=%v provisional=%v", a.Wait, a.Provisional)
	}
}

func (p *pair) said(a answer, v verb) string {
	wait := time.Duration(a.Wait) * tick
	switch a.Kind {
	case stale:
		return "stale"
	case notHeld:
		return "not held"
	case granted:
		return fmt.Sprintf("granted %d %d turns=%d others=%v", p.fences[a.Hold], p.fences[a.Block], a.Turns, a.Others)
	case others:
		return "others"
	case inQueue, held:
		return fmt.Sprintf("queued=%v wait=%v provisional=%v", a.Kind == inQueue, wait, a.Provisional)
	default:
		if v == cancel || !a.Provisional {
			return "done wait=0s provisional=false" // nobody is told more
		}
		return fmt.Sprintf("done wait=%v provisional=%v", wait, a.Provisional)
	}
}

// compareMail compares the messages that the last request caused.
func (p *pair) compareMail(r request) {
	var want []string
	for i := range p.m.places() {
		ml := p.s.P[i].Mail
		to := fmt.Sprintf(" to n%d.%s", p.m.Places[i], p.slot(i))
		if ml.Granted != 0 {
			p.learn(p.heard(fmt.Sprint(backend.HintGranted, to)), ml.Granted)
			want = append(want, fmt.Sprint(backend.HintGranted, to, " ", p.fences[ml.Granted]))
		}
		if ml.Others {
			want = append(want, fmt.Sprint(backend.HintOthers, to))
		}
		if ml.Watch {
			want = append(want, fmt.Sprint(backend.HintWatch, to))
		}
		p.s.P[i].Mail = mail{}
	}
	if p.outdated(r) {
		want = leaveOut(want, backend.HintWatch)
		p.hints = leaveOut(p.hints, backend.HintWatch)
	}
	slices.Sort(want)
	slices.Sort(p.hints)
	p.same("messages", fmt.Sprint(p.hints), fmt.Sprint(want))
}

// outdated: an entry of an older process is, or with r was, in the queue. The store
// in memory tells the present one to watch, which only makes it ask.
func (p *pair) outdated(r request) bool {
	for _, e := range append(p.s.Q[:], entry{r.By, r.Inc, r.Seq}) {
		if e.By != 0 && e.Inc != p.s.N[p.m.nodeOf(e.By)].Inc {
			return true
		}
	}
	return false
}

func leaveOut(hints []string, k backend.HintKind) []string {
	return slices.DeleteFunc(hints, func(h string) bool { return strings.HasPrefix(h, fmt.Sprint(k, " ")) })
}

// heard is the fence in the message that begins with text.
func (p *pair) heard(text string) backend.Fence {
	var f backend.Fence
	for _, h := range p.hints {
		if _, err := fmt.Sscanf(h, text+" %d", &f); err == nil {
			return f
		}
	}
	return 0
}

func (p *pair) same(what, got, want string) {
	if got != want {
		p.t.Errorf("%s = %s, want %s as in the model", what, got, want)
	}
}
