package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// maxHolds bounds one history for Porcupine; each hold is two operations.
const maxHolds = 2000

// lockState is what a lock is in the model: free, or held by a fence.
type lockState struct {
	held bool
	top  uint64 // fence of the present hold, or of the last
}

// step takes the lock with a fence, or ends the hold of that fence.
type step struct {
	end   bool
	fence uint64
}

// model of one lock. A refusal is always right, so it is no part of a history.
var model = porcupine.Model{
	Init: func() any { return lockState{} },
	Step: func(state, input, _ any) (bool, any) {
		s, in := state.(lockState), input.(step)
		if in.end {
			return s.held && s.top == in.fence, lockState{top: s.top}
		}
		return !s.held && in.fence > s.top, lockState{held: true, top: in.fence}
	},
	DescribeOperation: func(input, _ any) string {
		if in := input.(step); in.end {
			return fmt.Sprintf("end %d", in.fence)
		}
		return fmt.Sprintf("lock %d", input.(step).fence)
	},
}

// Linearizable asks Porcupine, for each name, whether one lock could have given
// these answers. No verdict within timeout is a violation, too.
//
// There are no unknown outcomes in it. Who was not told of a grant holds nothing;
// and a hold whose end was not heard of ends, at some time, after the last moment
// at which its caller could rely on it.
func Linearizable(ops []Op, timeout time.Duration) (vs []Violation) {
	for name, part := range byName(ops) {
		part = grants(part)
		slices.SortFunc(part, func(a, b Op) int { return cmp.Compare(a.Fence, b.Fence) })
		for len(part) > 0 {
			n := min(maxHolds, len(part))
			if got := porcupine.CheckOperationsTimeout(model, operations(part[:n]), timeout); got != porcupine.Ok {
				vs = append(vs, Violation{
					Rule: "model", Name: name, Ops: part[:min(n, 8)],
					Text: fmt.Sprintf("%d holds from fence %d on are no history of one lock: %s", n, part[0].Fence, got),
				})
			}
			if n == len(part) {
				break
			}
			part = part[n-1:] // each history begins with the last hold of the one before
		}
	}
	return vs
}

func operations(part []Op) (out []porcupine.Operation) {
	for i, o := range part {
		over := int64(math.MaxInt64)
		if o.End == Released {
			over = int64(o.EndAnswer)
		}
		out = append(out,
			porcupine.Operation{ClientId: 2 * i, Input: step{fence: o.Fence}, Call: int64(o.Call), Return: int64(o.Answer)},
			porcupine.Operation{ClientId: 2*i + 1, Input: step{end: true, fence: o.Fence}, Call: int64(o.until()), Return: over})
	}
	return out
}
