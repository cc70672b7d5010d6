package history_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

var (
	seedFlag     = flag.Uint64("seed", 0, "repeat the faults and the callers' choices of this seed; 0: a new one")
	durationFlag = flag.Duration("duration", 0, "how long each scenario is under faults; 0: its own time")
)

const (
	storeTimeout = 2 * time.Second // backend.timeout, the default
	patience     = time.Minute
)

// arrival is how long a request may take from its call until a gateway has it: on a machine
// with other work, and under the race detector, more than a tenth of a second was seen.
const arrival = slow / 2

// TestHistories has callers of three gateways compete while things go wrong, and
// looks at what they were told.
func TestHistories(t *testing.T) {
	program, err := e2e.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	for _, s := range append(slices.Clone(everyday), another(seed)) {
		t.Run(s.name, func(t *testing.T) {
			if len(s.faults) > 0 { // else order and rate would suffer
				t.Parallel()
			}
			if *durationFlag != 0 {
				s.faulty = *durationFlag
			}
			r, vs := play(t, s, seed, program)
			report(t, r, vs)
		})
	}
}

// play runs one scenario and judges it.
func play(t testing.TB, s scenario, seed uint64, program string) (*rig, []history.Violation) {
	r := newRig(t, s, seed, program)
	scripts := r.store.scripts(t)
	r.run(s.faulty)
	scripts = r.store.scripts(t) - scripts
	vs := r.clean() // first: who asks anew for a name drops what was left of it
	vs = append(vs, r.probe()...)
	vs = append(vs, r.judge()...)
	if rate := float64(scripts) / float64(max(r.rec.granted(), 1)); s.scripts > 0 && rate > s.scripts {
		vs = append(vs, history.Violation{Rule: "rate", Text: fmt.Sprintf("%.2f scripts for each grant, want at most %.2f", rate, s.scripts)})
	}
	t.Logf("%s, seed %d: %d scripts in the store; %s", s.name, seed, scripts, r.rec.counts())
	return r, vs
}

func report(t testing.TB, r *rig, vs []history.Violation) {
	if len(vs) == 0 {
		return
	}
	for _, v := range vs[:min(len(vs), 5)] {
		t.Errorf("%s", v)
	}
	dir := r.rec.keep(t, vs)
	for _, g := range r.gateways {
		write(t, dir+"/"+g.Name+".log", func(f *os.File) error {
			_, err := f.WriteString(g.Log())
			return err
		})
	}
	t.Errorf("%d violations; the history, pictures and logs are in %s; repeat with -seed %d", len(vs), dir, r.seed)
}

// judge has all checkers look at the history.
func (r *rig) judge() (vs []history.Violation) {
	ops, faults, odd := r.rec.copies()
	if !r.s.forgets {
		vs = append(vs, history.Overlaps(ops)...)
		vs = append(vs, history.Linearizable(ops, 30*time.Second)...)
	}
	vs = append(vs, history.Fences(ops, !r.s.forgets)...)
	if r.s.ordered {
		vs = append(vs, history.Order(ops, arrival)...)
	}
	vs = append(vs, history.Overtaken(ops, faults, arrival, 6*time.Second)...)
	vs = append(vs, history.Waits(ops, faults, storeTimeout, 1500*time.Millisecond+slow)...)
	vs = append(vs, history.Stalls(r.afterCrashes(ops, faults), faults, r.s.stall+slow, 2*time.Second, blocking)...)
	for _, s := range odd {
		vs = append(vs, history.Violation{Rule: "answer", Text: s})
	}
	for _, g := range r.gateways {
		if said := g.Complaint(); said != "" {
			vs = append(vs, history.Violation{Rule: "crash", Text: g.Name + ": " + said})
		}
	}
	return vs
}

// afterCrashes is ops as PostgreSQL may have them after it was killed.
func (r *rig) afterCrashes(ops []history.Op, faults []history.Fault) []history.Op {
	if r.s.scheme != "postgres" {
		return ops
	}
	const late = 600*time.Millisecond + slow // three rounds of its writer of the log, and the machine's time
	return history.TakenBack(ops, faults, late, func(f history.Fault) bool { return f.Kind == "restart store" })
}

// blocking: nobody can take a name whose holder's gateway cannot reach the store. The
// faults that are not in this list hit a request now and then, which is sent again.
func blocking(f history.Fault) bool {
	return slices.Contains([]string{
		"kill gateway", "power cut", history.PauseGateway, history.MachineStall, "pause store", "slow store", "restart store", "empty store",
		"black hole", "long black hole", "all late", "drop all replies", "cut on all replies",
	}, f.Kind)
}

// probe takes every name once through every gateway, when all is well again.
func (r *rig) probe() (vs []history.Violation) {
	for i, g := range r.gateways {
		if err := r.await(g); err != nil {
			vs = append(vs, history.Violation{Rule: "stuck", Text: err.Error()})
			continue
		}
		for _, h := range r.s.habits {
			for _, name := range h.names {
				for _, m := range h.modes() {
					if why := r.take(g, 10_000+i, name, m); why != "" {
						vs = append(vs, history.Violation{Rule: "stuck", Name: name, Text: fmt.Sprintf("after the faults, at %s, %s: %s", g.Name, m, why)})
					}
				}
			}
		}
	}
	return vs
}

func (r *rig) take(g *gateway, id int, name string, m history.Mode) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d, err := openSocket(ctx, g)
	if err != nil {
		return err.Error()
	}
	defer d.close()
	cl := claim{name: name, mode: m, wait: 30 * time.Second, ttl: 30 * time.Second} // not one that is over while the machine stands still
	o := history.Op{Name: name, Caller: id, Node: g.Name, Mode: m, Wait: cl.wait, TTL: cl.ttl, Call: now()}
	got, err := d.acquire(ctx, cl)
	o.Answer = now()
	if err != nil {
		return err.Error()
	}
	o.Outcome, o.Fence, o.Deadline, o.EndCall = history.Granted, got.fence, got.deadline, now()
	if err := d.release(ctx, cl); err != nil {
		return err.Error()
	}
	o.End, o.EndAnswer = history.Released, now()
	r.rec.op(o)
	return ""
}
