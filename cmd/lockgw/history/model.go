package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// maxHolds bounds one history for Porcupine; each hold is two operations. The
// next history begins with the last holds of it.
const (
	maxHolds = 2000
	again    = 16
)

// lockState is what a lock is in the model.
type lockState struct {
	mode  Mode     // of the present holds
	held  []uint64 // their fences
	top   uint64   // the newest fence
	floor uint64   // the newest one before those who may hold it together
	grant int      // how many there were
}

// step takes the lock with a fence, or ends the hold of that fence. Grants are
// numbered, see line: as all of a history took place, each comes right after the one
// before, and Porcupine need not try another order.
type step struct {
	end    bool
	mode   Mode
	fence  uint64
	number int
}

// take is s after the grant in, if that may be.
func (s lockState) take(in step) (bool, lockState) {
	limit := in.mode.Limit()
	room := len(s.held) == 0 || beside(s.mode, in.mode) && (limit == 0 || len(s.held) < limit)
	floor := s.floor
	if s.grant == 0 || !beside(s.mode, in.mode) {
		floor = s.top
	}
	return room && in.fence > floor && in.number == s.grant+1,
		lockState{mode: in.mode, held: append(slices.Clip(s.held), in.fence), top: max(s.top, in.fence), floor: floor, grant: in.number}
}

// drop is s after the end of the hold with fence, if there is that hold.
func (s lockState) drop(fence uint64) (bool, lockState) {
	i := slices.Index(s.held, fence)
	if i >= 0 {
		s.held = slices.Concat(s.held[:i], s.held[i+1:])
	}
	return i >= 0, s
}

func (s lockState) equal(o lockState) bool {
	return s.mode == o.mode && s.grant == o.grant && s.top == o.top && s.floor == o.floor && slices.Equal(s.held, o.held)
}

// model of one lock. A refusal is always right, so it is no part of a history.
var model = porcupine.Model{
	Init: func() any { return lockState{} },
	Step: func(state, input, _ any) (bool, any) {
		s, in := state.(lockState), input.(step)
		if in.end {
			return s.drop(in.fence)
		}
		return s.take(in)
	},
	Equal: func(a, b any) bool { return a.(lockState).equal(b.(lockState)) },
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
		part = line(grants(part))
		for len(part) > 0 {
			n := min(maxHolds, len(part))
			if got := porcupine.CheckOperationsTimeout(model, operations(part[:n]), timeout); got != porcupine.Ok {
				violates(&vs, "model", name, part[:min(n, 8)], "%d holds from fence %d on are no history of one lock: %s", n, part[0].Fence, got)
			}
			if n == len(part) {
				break
			}
			part = part[n-again:]
		}
	}
	return vs
}

// line has grants in the order of their fences; but those that may stand together, and
// follow each other, in the order in which they came to count for their callers, as late
// as may be: where there is room for them so, there is no other order with less.
func line(part []Op) []Op {
	slices.SortFunc(part, func(a, b Op) int { return cmp.Compare(a.Fence, b.Fence) })
	for i := 0; i < len(part); {
		n := i + 1
		for n < len(part) && beside(part[i].Mode, part[n].Mode) {
			n++
		}
		slices.SortFunc(part[i:n], func(a, b Op) int { return cmp.Compare(min(a.Answer, a.until()), min(b.Answer, b.until())) })
		i = n
	}
	return part
}

func operations(part []Op) (out []porcupine.Operation) {
	for i, o := range part {
		over := int64(math.MaxInt64)
		if o.End == Released {
			over = int64(o.EndAnswer)
		}
		out = append(out,
			porcupine.Operation{ClientId: 2 * i, Input: step{mode: o.Mode, fence: o.Fence, number: i + 1}, Call: int64(o.Call), Return: int64(o.Answer)},
			porcupine.Operation{ClientId: 2*i + 1, Input: step{end: true, fence: o.Fence}, Call: int64(o.until()), Return: over})
	}
	return out
}
