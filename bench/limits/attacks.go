package limits

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/rig"
)

const attackGroup = "attacked"

// attacks shows what a healthy caller notices of another user who attacks its gateway. It is
// an error if it is refused, or loses what it holds.
func attacks(ctx context.Context, r *rig.Rig, p rig.Plan, t *figures.Table) error {
	for _, url := range r.URLs() {
		for _, k := range attackers {
			if err := underAttack(ctx, r, t, k, url, p); err != nil {
				return fmt.Errorf("beside %s, %s: %w", k.name, rig.Scheme(url), err)
			}
		}
	}
	return nil
}

// underAttack adds a row of k: slices alone and beside it in turn.
func underAttack(ctx context.Context, r *rig.Rig, t *figures.Table, k attacker, url string, p rig.Plan) error {
	g, err := r.Another(ctx, url)
	if err != nil {
		return err
	}
	h, err := newHealthy(g)
	if err != nil {
		return err
	}
	defer h.close()
	alone, beside := &figures.Row{}, &figures.Row{}
	var all report
	for range p.Rounds {
		s, err := h.measure(3 * p.Slice)
		if err != nil {
			return err
		}
		alone.Samples = append(alone.Samples, s)
		s, did, err := besideOf(ctx, r, k, g, h, p.Slice)
		if err != nil {
			return err
		}
		beside.Samples = append(beside.Samples, s)
		all = report{all.done + did.done, all.over + did.over, did.why}
	}
	p50, p99 := func(s figures.Sample) time.Duration { return s.P50 }, func(s figures.Sample) time.Duration { return s.P99 }
	ratio := figures.Over(func(s []figures.Sample) float64 { return float64(s[1].P99) / float64(s[0].P99) }, alone, beside)
	t.Note(attackGroup, k.name+", "+rig.Scheme(url), k.n, ratio,
		"p99 x %.1f; p50 %s us (alone %s), p99 %s us (alone %s); %s; %d %s%s", ratio,
		figures.Micros(beside.Took(p50)), figures.Micros(alone.Took(p50)), figures.Micros(beside.Took(p99)), figures.Micros(alone.Took(p99)), k.what, all.done, k.unit, all)
	return r.StopGateway(g)
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
func besideOf(ctx context.Context, r *rig.Rig, k attacker, g *rig.Gateway, h *healthy, d time.Duration) (s figures.Sample, did report, err error) {
	self, err := os.Executable()
	if err != nil {
		return s, did, err
	}
	r.Started++
	name := fmt.Sprintf("attack%d", r.Started)
	ready := func(context.Context) error {
		text, err := os.ReadFile(filepath.Join(r.Dir, name+".log"))
		if err == nil && !strings.HasPrefix(string(text), begun) {
			err = errors.New("nothing was attacked")
		}
		return err
	}
	at, err := rig.Start(ctx, r.Dir, name, ready, self, "attack", k.name, g.RESP, g.HTTP)
	if err != nil {
		return s, did, err
	}
	err = rig.Pause(ctx, 2*d) // all of it has begun
	if err == nil {
		s, err = h.measure(3 * d)
	}
	if err := errors.Join(err, at.Stop()); err != nil {
		return s, did, err
	}
	if _, err := fmt.Sscanf(at.Said(), begun+"\n%d %d %q", &did.done, &did.over, &did.why); err != nil {
		return s, did, fmt.Errorf("what the attacker printed: %w\n%s", err, at.Said())
	}
	return s, did, h.keeps()
}
