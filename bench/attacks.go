package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const attackGroup = "attacked"

// attacks shows what a healthy caller notices of another user who attacks its gateway. It is
// an error if it is refused, or loses what it holds.
func attacks(ctx context.Context, r *rig, p plan, t *table) error {
	for _, url := range r.urls() {
		for _, k := range attackers {
			if err := r.underAttack(ctx, t, k, url, p); err != nil {
				return fmt.Errorf("beside %s, %s: %w", k.name, scheme(url), err)
			}
		}
	}
	return nil
}

// underAttack adds a row of k: slices alone and beside it in turn.
func (r *rig) underAttack(ctx context.Context, t *table, k attacker, url string, p plan) error {
	g, err := r.another(ctx, url)
	if err != nil {
		return err
	}
	h, err := newHealthy(g)
	if err != nil {
		return err
	}
	defer h.close()
	alone, beside := &row{}, &row{}
	var all report
	for range p.rounds {
		s, err := h.measure(3 * p.slice)
		if err != nil {
			return err
		}
		alone.samples = append(alone.samples, s)
		s, did, err := r.besideOf(ctx, k, g, h, p.slice)
		if err != nil {
			return err
		}
		beside.samples = append(beside.samples, s)
		all = report{all.done + did.done, all.over + did.over, did.why}
	}
	p50, p99 := func(s sample) time.Duration { return s.p50 }, func(s sample) time.Duration { return s.p99 }
	ratio := over(func(s []sample) float64 { return float64(s[1].p99) / float64(s[0].p99) }, alone, beside)
	t.note(attackGroup, k.name+", "+scheme(url), k.n, ratio,
		"p99 x %.1f; p50 %s us (alone %s), p99 %s us (alone %s); %s; %d %s%s", ratio,
		us(beside.took(p50)), us(alone.took(p50)), us(beside.took(p99)), us(alone.took(p99)), k.what, all.done, k.unit, all)
	return r.stopGateway(g)
}

// report is what an attacker says of itself.
type report struct {
	done, over int
	why        string // of the last refusal
}

func (r report) String() string {
	if r.over == 0 {
		return ", none refused"
	}
	return fmt.Sprintf(", %d refused or ended (%s)", r.over, r.why)
}

// besideOf measures h beside an attack of its own process, once that is under way.
func (r *rig) besideOf(ctx context.Context, k attacker, g *gateway, h *healthy, d time.Duration) (s sample, did report, err error) {
	self, err := os.Executable()
	if err != nil {
		return s, did, err
	}
	r.started++
	name := fmt.Sprintf("attack%d", r.started)
	ready := func(context.Context) error {
		text, err := os.ReadFile(filepath.Join(r.dir, name+".log"))
		if err == nil && !strings.HasPrefix(string(text), begun) {
			err = errors.New("nothing was attacked")
		}
		return err
	}
	at, err := start(ctx, r.dir, name, ready, self, "attack", k.name, g.resp, g.http)
	if err != nil {
		return s, did, err
	}
	err = pause(ctx, 2*d) // all of it has begun
	if err == nil {
		s, err = h.measure(3 * d)
	}
	if err := errors.Join(err, at.stop()); err != nil {
		return s, did, err
	}
	if _, err := fmt.Sscanf(at.Said(), begun+"\n%d %d %q", &did.done, &did.over, &did.why); err != nil {
		return s, did, fmt.Errorf("what the attacker printed: %w\n%s", err, at.Said())
	}
	return s, did, h.keeps()
}
