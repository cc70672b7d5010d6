package run

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// takeoverTime bounds how long a guardian that takes over waits for the gateway to
// tell how things stand. What it knows is what the run has told it last.
const takeoverTime = time.Second

// hold is that of the run, for its guardian.
func (o startOrder) hold() *hold {
	h := newHold(&options{Gateway: cli.Gateway{Socket: o.Socket}, signal: o.Signal, killAfter: o.KillAfter})
	h.socket, h.token, h.bound, h.views = o.Socket, o.Token, o.Bound, slices.Clone(o.Views)
	return h
}

// guard supervises p under h, which was acquired by a run that has ended, until p ends, too. If
// the locks are lost it stops p as the run would have done. It reports nothing, because nobody is
// left to read it.
func (h *hold) guard(p *process) error {
	h.meet()
	defer h.close()
	kill, err := boottime.New()
	if err != nil {
		return err
	}
	defer kill.Close()
	g, err := newGuard(h.o, h)
	if err != nil {
		return err
	}
	defer g.Close()
	r := &report{quiet: true, w: io.Discard}
	s := &supervisor{o: h.o, r: r, h: h, k: &guardian{}, guard: g, p: p, stop: &escalation{p: p, o: h.o, r: r, alarm: kill, apart: true}}
	s.run(nil)
	return nil
}

// meet connects and reads the deadlines, if that is soon done. Otherwise watch
// goes on trying, as long as the guard leaves the command alone.
func (h *hold) meet() {
	ctx, cancel := context.WithTimeout(h.ctx, takeoverTime)
	defer cancel()
	if h.dial(ctx) == nil && h.refresh(ctx) != nil {
		h.look() // watch is to find out soon what is wrong
	}
}
