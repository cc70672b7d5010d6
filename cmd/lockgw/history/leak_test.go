package history_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

// clean waits until nothing is left of the callers.
func (r *rig) clean() []history.Violation {
	var left []string
	takenBack := r.takenBack()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if left = append(r.leftInStore(takenBack), r.gatewaysLeft()...); len(left) == 0 {
			return nil
		}
	}
	slices.Sort(left)
	return []history.Violation{{Rule: "leak", Text: "left behind: " + strings.Join(left, "; ")}}
}

// leftInStore is what the store still has of names that are not in takenBack.
func (r *rig) leftInStore(takenBack map[string]bool) []string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return slices.DeleteFunc(r.store.left(ctx), func(text string) bool {
		name, _, _ := strings.Cut(text, " ")
		return takenBack[name]
	})
}

// takenBack are names that nobody may have asked for since a crash of the store that took back
// how they were given back. What it has of them ends with the lease.
func (r *rig) takenBack() map[string]bool {
	ops, faults, _ := r.rec.copies()
	type grant struct {
		name  string
		fence uint64
	}
	given := map[grant]bool{}
	for _, o := range ops {
		given[grant{o.Name, o.Fence}] = o.End == history.Released
	}
	names := map[string]bool{}
	for _, o := range r.afterCrashes(ops, faults) {
		if given[grant{o.Name, o.Fence}] && o.End == history.Standing {
			names[o.Name] = true
		}
	}
	return names
}

// gatewaysLeft is what the gateways still have.
func (r *rig) gatewaysLeft() (left []string) {
	const spare = 45 // connections to the store that are kept for later
	for i, g := range r.gateways {
		g.HTTP.CloseIdleConnections()
		if n := g.Descriptors(); n > r.base[i]+spare {
			left = append(left, fmt.Sprintf("%d descriptors of %s, %d at the start", n, g.Name, r.base[i]))
		}
		if info := r.info(g); !strings.Contains(info, "holds:0\r\nwaiters:0\r\n") {
			left = append(left, g.Name+" counts "+info)
		}
	}
	return left
}

// info is what the gateway counts.
func (r *rig) info(g *gateway) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	d, err := openSocket(ctx, g)
	if err != nil {
		return err.Error()
	}
	defer d.close()
	v, err := d.do(ctx, "INFO")
	if err != nil {
		return err.Error()
	}
	_, counts, _ := strings.Cut(fmt.Sprint(v), "# Lockgw\r\n")
	return counts
}
