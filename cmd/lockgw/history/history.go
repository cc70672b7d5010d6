// Package history judges what the clients of lock gateways have seen: whether
// more of them were told at once that they hold a name than may, whether fences
// grew, whether somebody waited for nothing or was passed by those who came later,
// and whether one lock could have given all these answers.
//
// Its tests are what makes the histories: real gateways, a real store, callers
// and faults.
package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Outcome of an acquire.
type Outcome string

// The outcomes.
const (
	Granted Outcome = "granted"
	Refused Outcome = "refused" // told that it does not hold the name
	Unheard Outcome = "unheard" // the connection ended before an answer
)

// End says how a hold ended, as its caller saw it.
type End string

// The ends.
const (
	Standing End = ""         // the caller has not heard of an end
	Released End = "released" // the release was confirmed: the hold stood when it was asked for
	Lost     End = "lost"     // told so, by a message or by the answer to the release
	HungUp   End = "hung up"  // the caller closed the connection by which its session lived
	Broken   End = "broken"   // the gateway died, or gave no clear answer to the release
)

// Op is one acquire by one caller and what became of it. All times are of one
// clock, which every caller on the machine reads.
type Op struct {
	Name   string
	Caller int
	Node   string // the gateway that was asked
	Mode   Mode
	Call   time.Duration
	Answer time.Duration
	Wait   time.Duration // how long the caller was ready to wait
	TTL    time.Duration
	Fixed  bool // no watchdog renews the lease

	Outcome Outcome
	Why     string // of a refusal or of an end, as the caller was told

	// Of a grant.
	Fence     uint64
	Again     uint64        // fence of a re-entry, 0: none
	Deadline  time.Duration // the last one that the caller was told
	Proven    time.Duration // when the last request was sent whose answer said that the hold stands
	End       End
	EndCall   time.Duration // the release, or the hang-up
	EndAnswer time.Duration
}

// Held is the time for which the caller could rely on its hold: never longer than
// what it was told, so that two of these intervals of one name may not overlap.
// A caller that hears of no end relies on it until the last deadline it knows;
// one whose release was confirmed has held it until it asked. An answer that came
// after the deadline leaves nothing.
func (o Op) Held() (from, to time.Duration) { return o.Answer, max(o.Answer, o.until()) }

func (o Op) until() time.Duration {
	if o.End == Released {
		return o.EndCall
	}
	to := max(o.Deadline, o.Proven)
	for _, sooner := range []time.Duration{o.EndCall, o.EndAnswer} {
		if sooner != 0 {
			to = min(to, sooner)
		}
	}
	return to
}

// String is o in one line.
func (o Op) String() string {
	s := fmt.Sprintf("caller %d at %s asked at %v%s, %s at %v", o.Caller, o.Node, o.Call, o.manner(), o.Outcome, o.Answer)
	if o.Outcome != Granted {
		return s
	}
	s += fmt.Sprintf(" with fence %d until %v", o.Fence, o.Deadline)
	if o.End != Standing {
		s += fmt.Sprintf(", %s at %v to %v", o.End, o.EndCall, o.EndAnswer)
	}
	if o.Why != "" {
		s += " (" + o.Why + ")"
	}
	return s
}

// manner is what o asked for, where that is not a lock for itself alone.
func (o Op) manner() string {
	switch {
	case o.Mode == Exclusive:
		return ""
	case o.Mode == Shared:
		return " to share it"
	default:
		return fmt.Sprintf(" for one of %d permits", o.Mode)
	}
}

// beside: holds of these modes may stand at the same time, as far as their number
// allows.
func beside(a, b Mode) bool { return a == b && a != Exclusive }

// The kinds of faults during which a gateway cannot answer its clients in time,
// whatever it does.
const (
	PauseGateway = "pause gateway"
	MachineStall = "machine stall" // of no one's making: nothing ran on the whole machine
)

// Fault is something that was done to the system.
type Fault struct {
	Kind     string
	Node     string // "" for all
	From, To time.Duration
}

// stops: while it lasts, the node cannot answer its own clients.
func (f Fault) stops(node string) bool {
	return f.Kind == PauseGateway && f.Node == node || f.Kind == MachineStall
}

// Violation is a rule that the history breaks.
type Violation struct {
	Rule string
	Name string // of the lock, "" if it is about none
	Text string
	Ops  []Op
}

// violates adds a violation to vs.
func violates(vs *[]Violation, rule, name string, ops []Op, format string, args ...any) {
	*vs = append(*vs, Violation{Rule: rule, Name: name, Ops: ops, Text: fmt.Sprintf(format, args...)})
}

func (v Violation) String() string {
	s := v.Rule + ": "
	if v.Name != "" {
		s += fmt.Sprintf("lock %q: ", v.Name)
	}
	s += v.Text
	for _, o := range v.Ops {
		s += "\n    " + o.String()
	}
	return s
}

// byName parts ops by lock, each in the order of the answers.
func byName(ops []Op) map[string][]Op {
	m := map[string][]Op{}
	for _, o := range ops {
		m[o.Name] = append(m[o.Name], o)
	}
	for _, part := range m {
		slices.SortFunc(part, func(a, b Op) int { return cmp.Compare(a.Answer, b.Answer) })
	}
	return m
}

// grants are those of ops that were granted.
func grants(ops []Op) []Op {
	var out []Op
	for _, o := range ops {
		if o.Outcome == Granted {
			out = append(out, o)
		}
	}
	return out
}
