package session

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lockgw/lockgw/session/contender"
)

// The reasons of a loss, as events name them.
const (
	reasonExpired = "expired"
	reasonGone    = "gone"
	reasonMaxHold = "max_hold"
	reasonEnded   = "session_ended"
	// LossBroken is the reason of a loss by Break.
	LossBroken = "broken"
)

var lossSentence = map[string]string{
	reasonExpired: "its lease ran out before a renewal was confirmed",
	reasonGone:    "the store does not have it any more",
	reasonMaxHold: "it has reached its max_hold",
	LossBroken:    "an administrator has ended it",
	reasonEnded:   "an administrator has ended its session",
}

// LossReasons are what HoldEnded.Reason may be of a loss.
func LossReasons() []string { return slices.Sorted(maps.Keys(lossSentence)) }

// LossSentence says in words what the reason of a loss means; "" of one that it does
// not know.
func LossSentence(reason string) string { return lossSentence[reason] }

// lossOf names the reason of a loss.
func lossOf(r contender.Reason) string {
	switch r {
	case contender.Expired:
		return reasonExpired
	case contender.ByForce:
		return LossBroken
	case contender.MaxHold:
		return reasonMaxHold
	default:
		return reasonGone
	}
}

func (l *Lease) lostError(reason string) *Error {
	return &Error{
		Code: CodeLost, Lock: l.name,
		Detail: fmt.Sprintf("the hold with fence %d is lost (%s: %s); another may have the lock now", l.c.Fence, reason, lossSentence[reason]),
	}
}

// lostAt is when the hold of l, which is lost, was over. Nobody may have looked at the clock for long,
// and another one had the name meanwhile.
func (l *Lease) lostAt() time.Time {
	at := time.Now().Add(-l.c.Late)
	if since := l.holderNow().Since; at.Before(since) { // by a clock that was set
		return since
	}
	return at
}

// logLoss says that a holder has lost its lock while it may be at work: the first thing
// that somebody looks for who finds that two have worked at once.
func (l *Lease) logLoss(reason string) {
	unlogged, ok := l.m.losses.log(l.s.o.User, l.m.cfg.Clock())
	if !ok {
		return
	}
	h := l.holderNow()
	said := []any{"lock", l.name, "reason", reason, "why", lossSentence[reason]}
	if unlogged > 0 {
		said = append(said, "unlogged_before", unlogged)
	}
	if err := l.n.Trouble(); err != nil && reason == reasonExpired { // by which the renewals were not confirmed
		said = append(said, "err", err)
	}
	l.m.cfg.Log.Warn("a lock was lost", append(said, "fence", uint64(l.c.Fence),
		slog.Group("holder", "pid", h.PID, "command", h.Command, "uid", h.UID, "note", h.Note), "owner", string(l.c.Owner), "session", l.s.id)...)
}

const (
	// mostLogged is how many losses of one user the log has in the time of logWindow: by a short
	// max_hold anybody can have as many as he likes.
	mostLogged = 1000
	logWindow  = time.Minute
)

// logged counts the losses of each user that were to be logged.
type logged struct {
	mu    sync.Mutex // nothing is locked under it
	of    map[string]int
	since time.Duration // when the counts began
}

// log tells whether a loss of the user is to be logged, and how many of his were not since the
// last one that was.
func (g *logged) log(user string, now time.Duration) (unlogged int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of == nil {
		g.of, g.since = map[string]int{}, now
	}
	if now-g.since >= logWindow {
		g.since = now
		for u, n := range g.of {
			switch {
			case n > mostLogged:
				g.of[u] = mostLogged - n // below 0: so many are still to be told
			case n >= 0:
				delete(g.of, u)
			}
		}
	}
	n := g.of[user]
	if n < 0 {
		unlogged, n = -n, 0
	}
	g.of[user] = n + 1
	return unlogged, n < mostLogged
}
