package zookeeper

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/quorum"
)

// guard notices that ZooKeeper was restored from an older copy, and may have forgotten who
// holds what. Then nothing new is granted until the last lease that it may have forgotten is
// over, while holders may write down again what they hold.
//
// It shows by the pulse of a node, which that node alone writes, every ten seconds. If
// something older stands there, whoever has seen it writes to the znode birth. Each write that
// grants compares the versions of both. A gateway trusts a version of birth once it has seen it
// for the longest lease.
type guard struct {
	me    string // this process, in the pulse
	since int64  // when it began, by its clock

	mu    sync.Mutex // guards the fields below
	pulse int32      // version of the last pulse of which it is known that it was written; -1: there is none yet
	known bool       // this process has written one
	birth int32      // version that was seen
	seen  [2]int64   // and when the znode was made, and written; 0: none was seen yet
	until time.Duration
}

// pulse is what stands in the znode: of which process it is.
type pulse struct {
	Process string `json:"process"`
	Since   int64  `json:"since"`
}

// birth is what stands in the znode: for how long nobody must trust what is there.
type birth struct {
	Lease int64  `json:"lease_ms,omitempty"`
	Node  string `json:"node,omitempty"`
}

// errBack: what this process has written is not there.
var errBack = errors.New("ZooKeeper was restored from an older copy")

// proof are the versions that the znodes have to have for a grant.
func (g *guard) proof() (birth, pulse int32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.birth, g.pulse
}

// distrust is why nothing new is granted; nil: it is.
func (t *Table) distrust() error {
	t.guard.mu.Lock()
	defer t.guard.mu.Unlock()
	return quorum.Restored("ZooKeeper", t.guard.until-now())
}

// inspect compares ZooKeeper with what this process knows of it, before a new session is used.
func (s *session) inspect(ctx context.Context) error {
	s.t.remains.renounce()
	if err := s.sync(ctx, s.t.paths.root); err != nil {
		return err
	}
	if err := s.felt(ctx); errors.Is(err, errBack) {
		if err := s.alarm(ctx); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := s.trust(ctx); err != nil {
		return err
	}
	return s.beat(ctx)
}

// felt compares the pulse of this node with what is known of it. errBack: it has gone back.
func (s *session) felt(ctx context.Context) error {
	g := &s.t.guard
	value, st, err := s.get(ctx, s.t.paths.pulse(s.t.Node()))
	if err != nil && !isGone(err) {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var x pulse
	is := int32(-1)
	if err == nil {
		_ = json.Unmarshal(value, &x) // what is no pulse is not this process's
		is = st.Version
	}
	own := x.Process == g.me
	back := g.known && !(own && is >= g.pulse) // it may be later: the answer to one may have been lost
	if back && x.Since > g.since {
		return backend.NotSent("another process is the same node; is there another gateway with the same state_dir?")
	}
	g.pulse, g.known = is, g.known || own
	if back {
		return errBack
	}
	return nil
}

// beat writes the pulse anew.
func (s *session) beat(ctx context.Context) error {
	g := &s.t.guard
	path := s.t.paths.pulse(s.t.Node())
	_, version := g.proof()
	value, _ := json.Marshal(pulse{g.me, g.since}) // it never fails
	if version < 0 {
		if err := s.create(ctx, path, ""); err != nil {
			return err
		}
		version = 0
	}
	st, err := s.write(ctx, path, string(value), version)
	switch {
	case errors.Is(err, zk.ErrBadVersion), isGone(err):
		return s.felt(ctx) // it may have been written by an attempt before
	case err != nil:
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pulse, g.known = st.Version, true
	return nil
}

// alarm has nobody grant anything new for the longest lease.
func (s *session) alarm(ctx context.Context) error {
	t := s.t
	t.Log.Warn("ZooKeeper was restored from an older copy; no new locks are granted until all that may have been forgotten is over", "for", t.Lease)
	value, _ := json.Marshal(birth{t.Lease.Milliseconds(), t.Node()}) // it never fails
	st, err := s.write(ctx, t.paths.birth(), string(value), -1)
	if err != nil {
		return err
	}
	t.guard.mu.Lock()
	defer t.guard.mu.Unlock()
	t.guard.see(st, birth{Lease: t.Lease.Milliseconds()})
	return nil
}

// trust looks whether somebody has raised an alarm.
func (s *session) trust(ctx context.Context) error {
	value, st, err := s.get(ctx, s.t.paths.birth())
	if err != nil {
		return err
	}
	var x birth
	if err := json.Unmarshal(value, &x); err != nil {
		return backend.NotSent("the znode " + s.t.paths.birth() + " of ZooKeeper cannot be read, and is made anew once you delete it: " + strings.TrimSpace(err.Error()))
	}
	s.t.guard.mu.Lock()
	defer s.t.guard.mu.Unlock()
	s.t.guard.see(st, x)
	return nil
}

// see notes the znode birth; g.mu is locked. The same copy may be put in place twice, so that a
// version says nothing alone. Whoever sees an alarm before anything else cannot know how old it
// is, unless it is long over by the clock of the store, too.
func (g *guard) see(st *zk.Stat, x birth) {
	was, is := g.seen, [2]int64{st.Czxid, st.Mtime}
	if st.Version == g.birth && is == was {
		return
	}
	g.birth, g.seen = st.Version, is
	left := time.Duration(x.Lease) * time.Millisecond
	if was[0] == 0 {
		left = min(left, time.Duration(st.Mtime*1000-quorum.Clock())*time.Microsecond+2*left)
	}
	g.until = max(g.until, now()+left)
}

// verify is why a grant was not carried out that compares birth and pulse; nil: there is no
// reason any more.
func (s *session) verify(ctx context.Context) error {
	err := s.trust(ctx)
	if err == nil {
		err = s.felt(ctx)
	}
	if errors.Is(err, errBack) || isGone(err) {
		s.t.listening.Lost(s)
		return backend.NotSent("ZooKeeper does not have what this gateway has written; it is looked into")
	}
	if err == nil {
		err = s.t.distrust()
	}
	return quorum.Unasked(settled(err))
}

// still deletes the pulse of this process, unless another one of the node has written it.
func (s *session) still(ctx context.Context) {
	_, version := s.t.guard.proof()
	_ = s.remove(ctx, s.t.paths.pulse(s.t.Node()), version) // a scan finds it otherwise
}
