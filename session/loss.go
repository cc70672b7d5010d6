package session

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

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

// logLoss says that a holder has lost its lock while it may be at work: the first thing
// that somebody looks for who finds that two have worked at once.
func (l *Lease) logLoss(reason string) {
	h := l.holderNow()
	said := []any{"lock", l.name, "reason", reason, "why", lossSentence[reason]}
	if err := l.n.Trouble(); err != nil && reason == reasonExpired { // by which the renewals were not confirmed
		said = append(said, "err", err)
	}
	l.m.cfg.Log.Warn("a lock was lost", append(said, "fence", uint64(l.c.Fence),
		slog.Group("holder", "pid", h.PID, "command", h.Command, "uid", h.UID, "note", h.Note), "owner", string(l.c.Owner), "session", l.s.id)...)
}
