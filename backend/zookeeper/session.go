package zookeeper

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/quorum"
	"github.com/lockgw/lockgw/backend/selftest"
)

// session is one session of this node, with its znodes.
type session struct {
	t *Table
	c *conn
	// id names it in records. It is never used again.
	id string
	// owner is how ZooKeeper calls it.
	owner   int64
	buckets buckets
	// touched is when the last probe was sent that was answered.
	touched atomic.Int64
}

const (
	beginTime = 8 * time.Second // for all that has to be there before the first request
	closeTime = time.Second
)

// sessionTime is the timeout to ask for: a session lasts as long as the usual lease.
func (t *Table) sessionTime() time.Duration {
	if t.addr.session > 0 {
		return t.addr.session
	}
	return t.Lease + t.addr.tick + quiet(quorum.ProbeEvery)
}

// touchEvery is how often the session is heard of at least.
func (s *session) touchEvery() time.Duration { return min(quorum.ProbeEvery, s.c.timeout()/4) }

// quiet is for how long nothing may be heard of a session that is touched so often.
func quiet(every time.Duration) time.Duration { return every * 3 / 2 }

// lasts is for how long after now a session has not expired for certain, of which a request
// is answered that is sent now. The leader counts from what the members tell it of their
// sessions, twice in a tick. If the member that answers dies before it has told, what counts
// is when it heard of the session the time before. A timeout has two ticks at least.
func (s *session) lasts() time.Duration {
	timeout := s.c.timeout()
	before := now() - time.Duration(s.touched.Load())
	return timeout - min(s.t.addr.tick, timeout/2) - max(before, quiet(s.touchEvery()))
}

// endOf is the end of a hold of ttl that begins under the session.
func (s *session) endOf(ttl time.Duration) quorum.End {
	return quorum.End{TTL: ttl, Under: s.id, Spare: max(ttl-s.lasts(), 0)}
}

// alive is the znode of the session.
func (s *session) alive() string { return s.t.paths.alive(s.id) }

// watched is a value, and where a later one is told of, once.
type watched struct {
	value  []byte
	st     *zk.Stat
	events <-chan zk.Event
}

func (s *session) get(ctx context.Context, path string) ([]byte, *zk.Stat, error) {
	w, err := do(ctx, s.c, func(z *zk.Conn) (w watched, err error) {
		w.value, w.st, err = z.Get(path)
		return w, err
	})
	return w.value, w.st, err
}

func (s *session) watch(ctx context.Context, path string) (watched, error) {
	return do(ctx, s.c, func(z *zk.Conn) (w watched, err error) {
		w.value, w.st, w.events, err = z.GetW(path)
		return w, err
	})
}

func (s *session) children(ctx context.Context, path string) ([]string, error) {
	return do(ctx, s.c, func(z *zk.Conn) ([]string, error) {
		all, _, err := z.Children(path)
		return all, err
	})
}

func (s *session) create(ctx context.Context, path, value string) error {
	_, err := do(ctx, s.c, func(z *zk.Conn) (string, error) { return z.Create(path, []byte(value), 0, s.t.acl) })
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

func (s *session) write(ctx context.Context, path, value string, version int32) (*zk.Stat, error) {
	return do(ctx, s.c, func(z *zk.Conn) (*zk.Stat, error) { return z.Set(path, []byte(value), version) })
}

func (s *session) remove(ctx context.Context, path string, version int32) error {
	_, err := do(ctx, s.c, func(z *zk.Conn) (any, error) { return nil, z.Delete(path, version) })
	return err
}

// sync has what is read afterwards be as new as what the leader has now.
func (s *session) sync(ctx context.Context, path string) error {
	_, err := do(ctx, s.c, func(z *zk.Conn) (string, error) { return z.Sync(path) })
	return err
}

// multi carries out all ops or none. failed is the first one that could not be; -1: it is not
// known which.
func (s *session) multi(ctx context.Context, ops []any) (results []zk.MultiResponse, failed int, err error) {
	results, err = do(ctx, s.c, func(z *zk.Conn) ([]zk.MultiResponse, error) {
		r, err := z.Multi(ops...)
		if err != nil && len(r) > 0 {
			return r, nil // the answer says why
		}
		return r, err
	})
	if err != nil {
		return nil, -1, err
	}
	for i, r := range results {
		if r.Error != nil {
			return nil, i, outcome(r.Error)
		}
	}
	return results, -1, nil
}

// settled is err where an answer of plain was not expected: somebody else has made or deleted
// a znode of lockgw's.
func settled(err error) error {
	if !isPlain(err) {
		return err
	}
	return fmt.Errorf("%w: the znodes below the chroot are not as lockgw has made them: %s", backend.ErrRefused, strings.TrimPrefix(err.Error(), "zk: "))
}

// begin makes a session with all that has to be there. The caller closes it, or abandons it.
func (t *Table) begin(ctx context.Context, first bool) (s *session, err error) {
	ctx, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	c, err := connect(t.addr, t.sessionTime())
	if err != nil {
		return nil, backend.NotSent(err.Error())
	}
	s = &session{t: t, c: c, id: rand.Text()}
	defer func() {
		if err != nil {
			c.close()
			s, err = nil, settled(err)
		}
	}()
	if err := c.wait(ctx); err != nil {
		return s, err
	}
	s.touched.Store(int64(now()))
	if t.addr.User != "" {
		login := []byte(t.addr.User + ":" + t.addr.Password)
		if _, err := do(ctx, c, func(z *zk.Conn) (any, error) { return nil, z.AddAuth("digest", login) }); err != nil {
			return s, err
		}
	}
	if err := s.prepare(ctx); err != nil {
		return s, err
	}
	if err := s.inspect(ctx); err != nil {
		return s, err
	}
	if err := s.announce(ctx); err != nil {
		return s, err
	}
	if first {
		return s, selftest.Run(ctx, s.trial(), t.Node())
	}
	return s, nil
}

// prepare makes the znodes that all gateways share, also those that somebody has deleted.
func (s *session) prepare(ctx context.Context) error {
	p := s.t.paths
	path := ""
	for part := range strings.SplitSeq(p.root[1:], "/") {
		path += "/" + part
		if err := s.ensure(ctx, path, ""); err != nil {
			return err
		}
	}
	for _, part := range []string{"/l", "/n", "/m", "/p"} {
		if err := s.ensure(ctx, p.root+part, ""); err != nil {
			return err
		}
	}
	return s.ensure(ctx, p.birth(), "{}")
}

// ensure makes a znode if it is not there. One that may not be read is.
func (s *session) ensure(ctx context.Context, path, value string) error {
	if _, _, err := s.get(ctx, path); isGone(err) {
		return s.create(ctx, path, value)
	}
	return nil
}

// announce makes the znodes of the session, in place of those of an earlier one.
func (s *session) announce(ctx context.Context) error {
	mail := s.t.paths.mail(s.t.Node())
	both := []any{
		&zk.CreateRequest{Path: s.alive(), Data: []byte(s.t.Node()), Acl: s.t.acl, Flags: zk.FlagEphemeral},
		&zk.CreateRequest{Path: mail, Data: []byte("{}"), Acl: s.t.acl, Flags: zk.FlagEphemeral},
	}
	_, failed, err := s.multi(ctx, both)
	if errors.Is(err, zk.ErrNodeExists) && failed == 1 {
		_, _, err = s.multi(ctx, append([]any{&zk.DeleteRequest{Path: mail, Version: -1}}, both...))
	}
	if isExpired(err) {
		return backend.NotSent(local)
	}
	if err != nil {
		return err
	}
	_, st, err := s.get(ctx, s.alive())
	if err != nil {
		return err
	}
	if s.owner = st.EphemeralOwner; s.owner != s.c.z.SessionID() {
		return backend.NotSent("the session with ZooKeeper has expired")
	}
	return nil
}

// trial is what may be tried of the store before the node listens.
func (s *session) trial() selftest.Store { return selftest.Store{Look: s.look, Swap: s.swap} }

// finish leaves the session to expire: a grant may be under way that relies on it, and the next
// session, or the next process of the node, goes on with what is held under it. Only when the
// Table is closed and nothing is held, it is ended.
func (s *session) finish() {
	if s.t.Life.Err() == nil {
		s.c.abandon()
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Life), closeTime)
	defer cancel()
	if !s.t.stakes.any() {
		s.still(ctx)
		s.c.close()
		return
	}
	// So that others know at once that nobody listens.
	_ = s.remove(ctx, s.t.paths.mail(s.t.Node()), -1)
	s.c.abandon()
}
