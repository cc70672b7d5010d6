package access

import (
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/lockgw/lockgw/session"
)

// Rule allows something to some callers.
type Rule struct {
	// Who are callers: user:NAME and group:NAME of a Unix socket, a name or a
	// number; token:NAME; cert:NAME, a common name or a DNS or URI name of the
	// certificate; loopback, whoever comes over TCP from this machine; anyone.
	Who []string
	// May are rights: inspect, lock, admin. Each has those before it.
	May []string
	// Locks are names, or with * at the end the beginnings of names.
	Locks []string
}

// Right is what a rule allows.
type Right int

// The rights, each with all before it.
const (
	Inspect Right = iota + 1 // see who holds and who waits, and what happens
	Lock                     // acquire, renew
	Admin                    // break the holds of others, see the events and sessions of all
)

var rights = []string{"inspect", "lock", "admin"}

func (r Right) String() string { return rights[r-1] }

// The kinds of callers.
const (
	kindUser     = "user"
	kindGroup    = "group"
	kindToken    = "token"
	kindCert     = "cert"
	kindLoopback = "loopback"
	kindAnyone   = "anyone"
)

// principal is one of Rule.Who.
type principal struct {
	kind string
	name string // of a token or a certificate
	id   int    // of a user or a group
}

// rule is a Rule that was understood.
type rule struct {
	Rule
	number int // from 1 on, as people count
	who    []principal
	right  Right
}

// Check says what is wrong with r.
func (r Rule) Check() error {
	_, err := r.compile(1)
	return err
}

func (r Rule) compile(number int) (rule, error) {
	out := rule{Rule: r, number: number}
	if len(r.Who) == 0 || len(r.May) == 0 || len(r.Locks) == 0 {
		return rule{}, errors.New("a rule needs who, may and locks, each with at least one entry")
	}
	for _, text := range r.Who {
		p, err := parsePrincipal(text)
		if err != nil {
			return rule{}, fmt.Errorf("who: %w", err)
		}
		out.who = append(out.who, p)
	}
	for _, text := range r.May {
		i := slices.Index(rights, text)
		if i < 0 {
			return rule{}, fmt.Errorf("may: %q is not one of %s", text, strings.Join(rights, ", "))
		}
		out.right = max(out.right, Right(i+1))
	}
	for _, text := range r.Locks {
		if err := checkPattern(text); err != nil {
			return rule{}, fmt.Errorf("locks: %w", err)
		}
	}
	return out, nil
}

func parsePrincipal(text string) (p principal, err error) {
	kind, name, named := strings.Cut(text, ":")
	p = principal{kind: kind, name: name}
	switch kind {
	case kindLoopback, kindAnyone:
		if named {
			return p, fmt.Errorf("%q: %s takes nothing after it", text, kind)
		}
		return p, nil
	case kindUser, kindGroup, kindToken, kindCert:
	default:
		return p, fmt.Errorf("%q is not user:NAME, group:NAME, token:NAME, cert:NAME, loopback or anyone", text)
	}
	if name == "" {
		return p, fmt.Errorf("%q needs a name after the colon", text)
	}
	if kind == kindUser || kind == kindGroup {
		p.id, err = idOf(kind, name)
	}
	return p, err
}

// idOf takes a number as it is, so that a rule may be about somebody whom this
// machine has no name for, as in a container.
func idOf(kind, name string) (int, error) {
	if id, err := strconv.ParseUint(name, 10, 32); err == nil {
		return int(id), nil
	}
	var id string
	if kind == kindUser {
		u, err := user.Lookup(name)
		if err != nil {
			return 0, fmt.Errorf("no user %q on this machine", name)
		}
		id = u.Uid
	} else {
		g, err := user.LookupGroup(name)
		if err != nil {
			return 0, fmt.Errorf("no group %q on this machine", name)
		}
		id = g.Gid
	}
	return strconv.Atoi(id)
}

func checkPattern(text string) error {
	prefix, open := strings.CutSuffix(text, "*")
	switch {
	case strings.Contains(prefix, "*"):
		return fmt.Errorf("%q has a * that is not at its end", text)
	case open:
		return session.CheckPrefix(prefix)
	default:
		return session.CheckName(text)
	}
}

// covers tells whether the rule is about that name.
func (r rule) covers(name string) bool {
	return slices.ContainsFunc(r.Locks, func(pattern string) bool {
		if prefix, open := strings.CutSuffix(pattern, "*"); open {
			return strings.HasPrefix(name, prefix)
		}
		return name == pattern
	})
}
