package peer

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/lockgw/lockgw/session"
)

const testLimit = 256

func limited() (*Descriptors, shares) {
	d := NewDescriptors()
	d.limit = func() (uint64, error) { return testLimit, nil }
	return d, sharesOf(testLimit)
}

// fill takes as many as owner gets.
func fill(t *testing.T, d *Descriptors, owner Owner) []*Use {
	t.Helper()
	var uses []*Use
	for len(uses) < 2*testLimit {
		u, err := d.Take(owner, 0)
		if err != nil {
			if session.CodeOf(err) != session.CodeTooManySessions {
				t.Errorf("refused with %v, want %s", err, session.CodeTooManySessions)
			}
			return uses
		}
		uses = append(uses, u)
	}
	t.Fatalf("%s gets %d descriptors of %d", owner.Account, len(uses), testLimit)
	return nil
}

func gets(t *testing.T, d *Descriptors, owner Owner) *Use {
	t.Helper()
	u, err := d.Take(owner, 0)
	if err != nil {
		t.Errorf("%s is refused: %v", owner.Account, err)
	}
	return u
}

// However many users take all they can get, the next one gets something, and root, too.
func TestOneUserLeavesSomeToOthers(t *testing.T) {
	d, s := limited()
	for uid := 1001; uid <= 1005; uid++ {
		got := len(fill(t, d, User(uid)))
		if left := s.common - d.used; got == 0 || got < left || got > left+1 {
			t.Errorf("uid %d gets %d and leaves %d, want about as many", uid, got, left)
		}
	}
	gets(t, d, User(1006))
	if n := len(fill(t, d, User(0))); n < s.clients-s.common {
		t.Errorf("root gets %d beside them, want %d", n, s.clients-s.common)
	}
	if d.used > s.clients {
		t.Errorf("%d are in use, want no more than %d", d.used, s.clients)
	}
}

func TestReserveOfAdministrators(t *testing.T) {
	d, s := limited()
	for uid := 1001; d.used < s.common; uid++ {
		gets(t, d, User(uid))
	}
	if _, err := d.Take(User(5000), 0); err == nil || !strings.Contains(err.Error(), "but for administrators") {
		t.Errorf("one more user: %v, want a refusal", err)
	}
	gets(t, d, User(0))
}

// The kernel's number counts, too: descriptors may be in use for something else.
func TestHighNumbers(t *testing.T) {
	d, s := limited()
	if _, err := d.Take(User(1001), s.common+s.self); err == nil {
		t.Error("a user gets a descriptor of those that are kept back for administrators")
	}
	if _, err := d.Take(User(0), s.common+s.self); err != nil {
		t.Errorf("root does not get it: %v", err)
	}
	if _, err := d.Take(User(0), s.end); err == nil {
		t.Error("root gets a descriptor of those that are for the store")
	}
}

func TestReleaseGivesBack(t *testing.T) {
	d, _ := limited()
	uses := fill(t, d, User(1001))
	for range 3 {
		uses[0].Release() // once or more often
	}
	uses[1].Release()
	for range 2 {
		gets(t, d, User(1001))
	}
	if _, err := d.Take(User(1001), 0); err == nil {
		t.Error("a descriptor that was given back twice counts twice")
	}
	(*Use)(nil).Release()
}

// Who is not identified yet has a part of the common share, and one address a part of
// that.
func TestStrangersHaveOneBudget(t *testing.T) {
	d, s := limited()
	from := func(n int) Owner { return Owner{Account: accountNetwork, address: fmt.Sprint("10.0.0.", n)} }
	first := fill(t, d, from(1))
	if len(first) > s.unknown/2+1 {
		t.Errorf("one address gets %d of %d, want half", len(first), s.unknown)
	}
	second := gets(t, d, from(2))
	for n := 3; d.strange < s.unknown; n++ {
		gets(t, d, from(n))
	}
	if _, err := d.Take(from(99), 0); err == nil || !strings.Contains(err.Error(), "shown yet who they are") {
		t.Errorf("one more stranger: %v, want a refusal", err)
	}
	gets(t, d, User(1001))
	if err := second.Identify(Known("token ci")); err != nil {
		t.Errorf("identify: %v", err)
	}
	if d.accounts["token ci"] != 1 || d.unknown["10.0.0.2"] != 0 {
		t.Errorf("accounts %v, strangers %v, want it moved", d.accounts, d.unknown)
	}
	gets(t, d, from(99)) // in its place
	second.Release()
	if d.accounts["token ci"] != 0 {
		t.Errorf("accounts %v after the release", d.accounts)
	}
}

// An account that has as many as it may have gets no more by being found out later.
func TestIdentifyIsRefused(t *testing.T) {
	d, _ := limited()
	stranger := gets(t, d, Owner{Account: accountNetwork, address: "10.0.0.1"})
	fill(t, d, Known("token ci"))
	if err := stranger.Identify(Known("token ci")); session.CodeOf(err) != session.CodeTooManySessions {
		t.Errorf("identify: %v, want %s", err, session.CodeTooManySessions)
	}
	if d.strange != 1 {
		t.Errorf("%d strangers, want it where it was", d.strange)
	}
}

// Who fills the room for probes makes room by it: the newest of others is served.
func TestRoom(t *testing.T) {
	d, s := limited()
	why := errors.New("full")
	evicted := map[string]int{}
	squeeze := func(owner Owner) *Use {
		return d.Squeeze(owner, 0, why, func() { evicted[owner.Account]++ })
	}
	for range s.room {
		squeeze(User(1001))
	}
	probe := squeeze(User(1002))
	for range 5 * s.room {
		squeeze(User(1001))
	}
	if evicted["uid 1002"] != 0 || evicted["uid 1001"] != 5*s.room+1 || len(d.room) != s.room {
		t.Errorf("%v were put out and %d are left, want those of the one who has most", evicted, len(d.room))
	}
	if !errors.Is(probe.Crowded(), why) || (*Use)(nil).Crowded() != nil {
		t.Error("a connection in the room does not know why")
	}
	probe.Release()
	if len(d.room) != s.room-1 {
		t.Errorf("%d in the room after a release, want %d", len(d.room), s.room-1)
	}
	if d.Squeeze(User(1002), s.end, why, nil) != nil {
		t.Error("the room takes a descriptor of those that are for the store")
	}
}

// What is remembered of refusals is about those who were refused, and nobody else.
func TestRefused(t *testing.T) {
	d, _ := limited()
	victim := session.Options{Account: "uid 1001", Peer: session.Peer{UID: 1001}}
	restored := session.Options{Peer: session.Peer{UID: 1001}}
	other := session.Options{Account: "uid 1002"}
	tcp := session.Options{Peer: session.NoPeer()}
	before := session.Boottime()
	d.Refuse(User(1001))
	if d.Refused(victim) < before || d.Refused(restored) < before {
		t.Error("a refusal is not remembered")
	}
	if d.Refused(other) != 0 || d.Refused(tcp) != 0 {
		t.Error("a refusal is remembered of somebody else")
	}
	d.Refuse(Owner{Account: accountLoopback})
	if d.Refused(tcp) < before || d.Refused(other) != 0 {
		t.Error("a refusal over TCP is not remembered of who may be meant, or of somebody else")
	}
	d.RefuseAll(errors.New("accept: another reason"))
	if d.Refused(other) != 0 {
		t.Error("an error of accept that is about one connection is taken for a refusal of all")
	}
	d.RefuseAll(fmt.Errorf("accept: %w", syscall.EMFILE))
	if d.Refused(other) < before {
		t.Error("that nobody could connect is not remembered")
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	d, _ := limited()
	for n := range maxRefused + 1 {
		d.Refuse(Known(fmt.Sprint("token ", n)))
	}
	if len(d.refused) > maxRefused || d.Refused(session.Options{Account: "token x"}) == 0 {
		t.Errorf("%d refusals remembered, want %d and all others together", len(d.refused), maxRefused)
	}
}
