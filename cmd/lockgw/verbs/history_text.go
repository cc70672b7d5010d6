package verbs

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockgw/lockgw/api/past"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// took is a duration in as much detail as a reader needs; "" for 0.
func took(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d == 0:
		return ""
	case d < 10*time.Second:
		return cli.Duration(d.Round(10 * time.Millisecond))
	default:
		return cli.Age(d)
	}
}

func quantityText(q *past.Quantity) string {
	if q.WorstMS == 0 {
		return "not at all"
	}
	or0 := func(ms int64) string { return cmp.Or(took(ms), "0s") }
	return fmt.Sprintf("%s (p50), %s (p99), %s at worst", or0(q.P50MS), or0(q.P99MS), or0(q.WorstMS))
}

func fenceText(fence uint64) string {
	if fence == 0 {
		return ""
	}
	return strconv.FormatUint(fence, 10)
}

func heldText(a *past.Attempt) string {
	if a.Granted.IsZero() || a.Outcome == "unknown" { // that was cut off
		return ""
	}
	return cmp.Or(took(a.HeldMS), "0s")
}

func outcomeText(a *past.Attempt) string {
	text := strings.ReplaceAll(a.Outcome, "_", " ")
	if a.Reason != "" {
		text += " (" + a.Reason + ")"
	}
	return cli.Printable(text)
}

// personText names a person; the node is left out if it is this one.
func personText(p *past.Person, here string) string {
	h := holderOf(p)
	if h.Node == here {
		h.Node = ""
	}
	return cli.HolderText(h)
}

// behindText names who held the lock for the longest part of the wait, and how many others
// held it meanwhile.
func behindText(a *past.Attempt, here string) string {
	var longest *past.Span
	var most time.Duration
	until := cmp.Or(a.Granted, a.Ended)
	for i := range a.Behind {
		s := &a.Behind[i]
		if d := within(s, a.Asked, until); longest == nil || d > most {
			longest, most = s, d
		}
	}
	if longest == nil {
		return ""
	}
	text := personText(&longest.Person, here)
	if most >= time.Second {
		text += " for " + cli.Age(most)
	}
	if more := len(a.Behind) - 1 + a.BehindMore; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// within is how much of the time between from and until s covers, as far as is known.
func within(s *past.Span, from, until time.Time) time.Duration {
	if until.IsZero() {
		until = time.Now()
	}
	if !s.Until.IsZero() && s.Until.Before(until) {
		until = s.Until
	}
	if s.From.After(from) {
		from = s.From
	}
	return until.Sub(from)
}
