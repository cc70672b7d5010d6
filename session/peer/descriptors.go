package peer

import (
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/lockgw/lockgw/session"
)

// Descriptors divides the file descriptors that this process may have among its clients:
// connections, and processes that are watched. Some are reserved for the store, and some for
// administrators. No user has more than are left for all others. So one user who takes as
// many as possible leaves half of them, two users leave a third, and nobody can shut out the
// next user.
//
// A client that gets none is refused. The refusal is remembered, because the silence of a
// client that could not connect does not mean that it is dead. Descriptors is safe for
// concurrent use. Use NewDescriptors.
type Descriptors struct {
	limit func() (uint64, error)

	mu       sync.Mutex // guards the fields below
	used     int        // by all
	accounts map[string]int
	unknown  map[string]int // connections of who is not identified, by address
	strange  int            // the sum of them
	room     []*Use         // the connections without a share, oldest first
	refused  map[string]time.Duration
	everyone time.Duration // when it was not even known who is refused; CLOCK_BOOTTIME
}

// NewDescriptors makes one for this process.
func NewDescriptors() *Descriptors {
	return &Descriptors{limit: descriptorLimit, accounts: map[string]int{}, unknown: map[string]int{}, refused: map[string]time.Duration{}}
}

// Use is a descriptor on somebody's account.
type Use struct {
	d       *Descriptors
	account string // at first
	evict   func() // of a connection in the room: closes it
	why     error  // it has no share

	owner Owner // guarded by d.mu, as the next one
	over  bool  // released
}

// keep counts a descriptor for owner, who had it before.
func (d *Descriptors) keep(owner Owner) *Use {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addLocked(owner, 1)
	return &Use{d: d, owner: owner, account: owner.Account}
}

// maxRefused bounds for how many accounts a refusal is remembered one by one.
const maxRefused = 4096

// Take counts the descriptor fd for owner. If owner may have no more, the error says why:
// CodeTooManySessions.
func (d *Descriptors) Take(owner Owner, fd int) (*Use, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.checkLocked(owner, fd); err != nil {
		d.refuseLocked(owner.Account)
		return nil, err
	}
	u := &Use{d: d, owner: owner, account: owner.Account}
	d.addLocked(owner, 1)
	return u, nil
}

// Squeeze accepts a connection that Take has refused for the reason why, for a request for
// /livez alone. There is room for some such connections. When it is full, Squeeze closes one
// of the owner that has most of them, by its evict, so that nobody can fill the room for long.
// nil: there is no descriptor at all.
func (d *Descriptors) Squeeze(owner Owner, fd int, why error, evict func()) *Use {
	d.mu.Lock()
	s, err := d.shares()
	if err != nil || fd >= s.end {
		d.mu.Unlock()
		return nil
	}
	u := &Use{d: d, owner: owner, account: owner.Account, evict: evict, why: why}
	d.room = append(d.room, u)
	var leaves *Use
	if len(d.room) > s.room {
		leaves = d.mostLocked()
		d.leaveLocked(leaves)
	}
	d.mu.Unlock()
	if leaves != nil {
		leaves.evict()
	}
	return u
}

// mostLocked is the oldest connection in the room of the owner who has most there.
func (d *Descriptors) mostLocked() *Use {
	count := map[string]int{}
	for _, u := range d.room {
		count[u.owner.Account+u.owner.address]++
	}
	var most *Use
	n := 0
	for _, u := range d.room {
		if c := count[u.owner.Account+u.owner.address]; c > n {
			most, n = u, c
		}
	}
	return most
}

func (d *Descriptors) leaveLocked(u *Use) {
	for i, r := range d.room {
		if r == u {
			d.room = append(d.room[:i:i], d.room[i+1:]...)
			return
		}
	}
}

// shares are looked up each time: the limit of a process can be changed while it runs.
func (d *Descriptors) shares() (shares, error) {
	limit, err := d.limit()
	return sharesOf(limit), err
}

// checkLocked returns an error if owner may have no more. The kernel hands out the lowest
// number that is free, so a high fd tells that the numbers below are in use, for whatever.
func (d *Descriptors) checkLocked(owner Owner, fd int) error {
	s, err := d.shares()
	if err != nil {
		return nil // the kernel itself refuses what is too much
	}
	own := d.accounts[owner.Account]
	switch {
	case fd >= s.end, d.used >= s.clients:
		return full("the gateway has no file descriptor left; close connections, or raise its limit (ulimit -n, LimitNOFILE=)")
	case owner.admin:
		return nil
	case d.used >= s.common, fd >= s.common+s.self:
		return full("the gateway has no file descriptor left but for administrators; close connections, or raise its limit (ulimit -n, LimitNOFILE=)")
	case own >= min(s.common-d.used, maxShare):
		return full("%s has %d connections and watched processes here, and may not have more than are left for all others (%d); "+
			"close some, or raise the gateway's limit (ulimit -n, LimitNOFILE=)", owner.Account, own, s.common-d.used)
	case owner.address == "":
		return nil
	case d.strange >= s.unknown, d.unknown[owner.address] >= s.unknown-d.strange:
		return full("too many connections over the network have not shown yet who they are (%d, %d of them from %s)",
			d.strange, d.unknown[owner.address], owner.address)
	}
	return nil
}

func full(format string, args ...any) error {
	return &session.Error{Code: session.CodeTooManySessions, RetryAfter: time.Second, Detail: fmt.Sprintf(format, args...)}
}

func (d *Descriptors) addLocked(owner Owner, n int) {
	d.used += n
	tally(d.accounts, owner.Account, n)
	if owner.address != "" {
		d.strange += n
		tally(d.unknown, owner.address, n)
	}
}

func tally(m map[string]int, key string, n int) {
	if m[key] += n; m[key] == 0 {
		delete(m, key)
	}
}

// Crowded is why the connection may ask for /livez alone; nil if it has a share of the
// descriptors. It is nil for a nil Use.
func (u *Use) Crowded() error {
	if u == nil {
		return nil
	}
	return u.why
}

// Account is that by which refusals of such connections are remembered; "" for a nil Use.
func (u *Use) Account() string {
	if u == nil {
		return ""
	}
	return u.account
}

// Identify moves the descriptor of a network client whose identity was not known to the
// account of that identity. CodeTooManySessions, if the account has no room for it.
func (u *Use) Identify(as Owner) error {
	if u == nil || u.why != nil {
		return u.Crowded()
	}
	u.d.mu.Lock()
	defer u.d.mu.Unlock()
	if u.over || u.owner.address == "" {
		return nil
	}
	u.d.addLocked(u.owner, -1)
	err := u.d.checkLocked(as, 0)
	if err != nil {
		u.d.refuseLocked(u.account)
		u.d.addLocked(u.owner, 1)
		return err
	}
	u.owner = as
	u.d.addLocked(as, 1)
	return nil
}

// Release is called when the descriptor is closed, once or more often, also of nil.
func (u *Use) Release() {
	if u == nil {
		return
	}
	u.d.mu.Lock()
	defer u.d.mu.Unlock()
	switch {
	case u.over:
	case u.why != nil:
		u.d.leaveLocked(u)
	default:
		u.d.addLocked(u.owner, -1)
	}
	u.over = true
}

// RefuseAll is told that a connection could not even be accepted. Any other error than
// that there is no room for it is ignored.
func (d *Descriptors) RefuseAll(err error) {
	if !Full(err) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.everyone = session.Boottime()
}

// Refuse is told that a connection of owner was refused for another limit.
func (d *Descriptors) Refuse(owner Owner) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refuseLocked(owner.Account)
}

func (d *Descriptors) refuseLocked(account string) {
	if _, known := d.refused[account]; !known && len(d.refused) >= maxRefused {
		d.everyone = session.Boottime()
		return
	}
	d.refused[account] = session.Boottime()
}

// Refused is when the client of a session was last refused a connection or a request, on
// CLOCK_BOOTTIME; 0: never. For a TCP client of which the journal of an earlier version has no
// account, it is when any client was refused that could not be identified.
func (d *Descriptors) Refused(o session.Options) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch account := o.Account; {
	case account != "":
		return max(d.everyone, d.refused[account])
	case o.Peer.UID >= 0:
		return max(d.everyone, d.refused[User(o.Peer.UID).Account])
	default:
		return max(d.everyone, d.refused[accountNetwork], d.refused[accountLoopback], d.refused[accountUnknown])
	}
}

// Number is the descriptor of a connection of the kernel; 0 where there is none, as of
// a pipe in memory.
func Number(c net.Conn) (fd int) {
	if sc, ok := c.(syscall.Conn); ok {
		_ = control(sc, func(n int) error { fd = n; return nil })
	}
	return fd
}
