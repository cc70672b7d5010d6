// Package limits measures what a gateway bears: what it costs at rest, as many holds and
// callers as there may be, what is told beyond a limit, and what others notice of an attack.
package limits

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/rig"
)

// Part is what of the limits is measured; "": nothing, "true": all.
type Part string

var parts = map[Part]func(context.Context, *rig.Rig, rig.Plan, *figures.Table) error{
	"rest": rest, "many": many, "refusals": refusals, "names": onceNames, "attacks": attacks,
}

// PartNames are those that Set knows.
func PartNames() string {
	var names []string
	for _, p := range slices.Sorted(maps.Keys(parts)) {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}

// String is for package flag.
func (p *Part) String() string { return string(*p) }

// IsBoolFlag is for package flag: it may stand without a value.
func (p *Part) IsBoolFlag() bool { return true }

// Set is for package flag: "true" stands for no value.
func (p *Part) Set(s string) error {
	if *p = Part(s); s != "true" && parts[*p] == nil {
		return fmt.Errorf("no part %q; there are %s", s, PartNames())
	}
	return nil
}

// Measure measures what a gateway bears, and prints it.
func Measure(ctx context.Context, out io.Writer, what Part, p rig.Plan) error {
	return rig.Measure(ctx, out, p, func(r *rig.Rig, t *figures.Table) (reach []figures.Target, err error) {
		for _, name := range []Part{"rest", "many", "refusals", "names", "attacks"} {
			if what != "true" && what != name {
				continue
			}
			if err := parts[name](ctx, r, p, t); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			reach = append(reach, limitTargets[name]...)
		}
		return reach, nil
	})
}

var limitTargets = map[Part][]figures.Target{
	"rest": {
		figures.Figure(restGroup, heldRow, "%", 1, "10,000 locks held with a ttl of 30 s: of a core, gateway and Redis together"),
		figures.Figure(restGroup, waitRow, "KiB", 12, "callers that wait over the socket, on Redis: memory of the gateway for each"),
		figures.Figure(restGroup, idleRow, "MiB", 40, "a gateway that nobody uses, on Redis: memory"),
		figures.Figure(restGroup, startRow, "ms", 100, "from the start of a gateway until it is ready, on Redis"),
	},
	"names": {
		figures.Figure(namesGroup, "memory://"+laterRow, "times", flat, "names used once, embedded store: memory of the gateway at the end compared with the middle"),
		figures.Figure(namesGroup, "redis://"+laterRow, "times", flat, "the same on Redis"),
	},
}

// flat is how much more memory the gateway may have at the end than in the middle.
const flat = 1.1

const (
	restGroup = "at rest"
	manyGroup = "as many as there may be"
	heldRow   = "locks held, ttl 30s, redis://"
	waitRow   = "callers wait, socket, redis://"
	idleRow   = "a gateway that nobody uses, redis://"
	startRow  = "from start to ready, redis://"
)
