package session

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// idleGrace is how long a session that holds nothing, waits for nothing and says nothing
// is left alone where sessions are scarce.
const idleGrace = time.Minute

// clearEvery: to look at all sessions takes time, which is not for everybody to cause.
const clearEvery = time.Second

// roomLocked says why there is no room for another session with these Options.
func (m *Manager) roomLocked(o Options) error {
	most, detail := m.cfg.Limits.Sessions, "the limit of sessions (limits.sessions) is reached"
	if !o.Administers {
		most -= most / 100
		if m.users[o.User] >= m.cfg.Limits.SessionsPerUser {
			most, detail = 0, "the limit of sessions of one user (limits.sessions_per_user) is reached"
			if o.User == "" {
				detail = "the limit of sessions of one user (limits.sessions_per_user), as who all those count who come over TCP without a token, is reached"
			}
		}
	}
	if len(m.sessions) < most {
		return nil
	}
	return &Error{Code: CodeTooManySessions, RetryAfter: time.Second, Detail: detail}
}

// clear ends what idles, of the user if that has too many sessions, else of all. It is
// false if nothing was ended.
func (m *Manager) clear(user string) (ended bool) {
	now := m.cfg.Clock()
	m.mu.Lock()
	if m.cleared != 0 && now-m.cleared < clearEvery {
		m.mu.Unlock()
		return false
	}
	m.cleared = now
	all := m.users[user] < m.cfg.Limits.SessionsPerUser
	m.mu.Unlock()
	for _, s := range m.all() {
		if (all || s.o.User == user) && s.closeIf(s.idleLocked, "it held and waited for nothing, and there were too many sessions") {
			ended = true
		}
	}
	return ended
}

// idleLocked: nobody misses the session, as far as can be told.
func (s *Session) idleLocked() bool {
	return len(s.holds)+len(s.waiting)+s.gathering+s.conns == 0 && s.o.Alive == nil && s.o.Keepalive > 0 &&
		s.m.cfg.Clock()-s.seen > idleGrace
}

// holding counts what each user holds. A user may have many sessions, and what min_hold keeps
// outlives them: only of a process before this one it is not known whose it was.
type holding struct {
	mu sync.Mutex     // nothing is locked under it
	of map[string]int // by user
}

func (h *holding) add(user string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[string]int{}
	}
	if h.of[user] += n; h.of[user] == 0 {
		delete(h.of, user)
	}
}

func (h *holding) by(user string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[user]
}

// count and countNoMore enclose the time in which somebody has the name by l.
func (l *Lease) count() { l.m.holding.add(l.s.o.User, 1) }

func (l *Lease) countNoMore() {
	if l.s != nil {
		l.m.holding.add(l.s.o.User, -1)
	}
}

func tooManyHeld(name, user string) *Error {
	detail := "the limit of holds of one user (limits.holds_per_user) is reached"
	if user == "" {
		detail = "the limit of holds of one user (limits.holds_per_user), as who all those count who come over TCP without a token, is reached"
	}
	return &Error{Code: CodeTooManyHolds, Lock: name, RetryAfter: time.Second, Detail: detail}
}

// UserEnded is what the end of all sessions of a user has done.
type UserEnded struct {
	Sessions int
	Ended
}

// EndUser ends the sessions of a user, as EndSession does, on behalf of an administrator
// who is named in the audit record.
func (m *Manager) EndUser(ctx context.Context, user, by string) UserEnded {
	found := slices.DeleteFunc(m.all(), func(s *Session) bool { return s.o.User != user })
	var out UserEnded
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout) // for all of them; they end also after it
	defer cancel()
	for _, s := range found {
		e, ended := s.end(ctx, "an administrator has ended all sessions of "+UserName(user), revoke)
		if !ended { // by itself just before
			continue
		}
		out.Sessions++
		out.add(e)
	}
	m.cfg.Log.Warn("the sessions of a user were ended", "audit", "end_user", "user", UserName(user),
		"sessions", out.Sessions, "locks", len(out.Released), "by", by)
	return out
}

// ParseUser reads a user as UserName writes one: user: and a number, token: or cert: and
// a name, or unknown.
func ParseUser(text string) (string, error) {
	kind, name, _ := strings.Cut(text, ":")
	uid, err := strconv.ParseUint(name, 10, 32)
	switch {
	case text == UserName(""):
		return "", nil
	case kind == "user" && err == nil:
		return "user:" + strconv.FormatUint(uid, 10), nil
	case name == "" || kind != "token" && kind != "cert":
		return "", Invalid("user", "is %s; it is user: and the number of a user, token: or cert: and a name, or %s for all who are known by none of them",
			Quote(text), UserName(""))
	}
	return text, nil
}

// UserName is a user for people.
func UserName(user string) string {
	if user == "" {
		return "unknown"
	}
	return user
}
