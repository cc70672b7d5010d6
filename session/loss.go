package session

import "log/slog"

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
