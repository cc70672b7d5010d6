package zookeeper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
	"github.com/lockgw/lockgw/backend/selftest"
)

// page is where people read on.
const page = "docs/zookeeper.md"

// Examine looks for what is wrong with the members that cfg names, and takes a lock that
// nobody else uses and gives it back. cfg.Node is not used.
func Examine(ctx context.Context, cfg Config) []backend.Finding {
	a, err := parseAddress(cfg.URL)
	if err != nil {
		return []backend.Finding{{Check: "address", Detail: err.Error(), Remedy: "correct backend.url", Fails: true}}
	}
	found := quorum.Examine(a.Address, "ZooKeeper", func(i int) (backend.Finding, bool) { return member(ctx, a, i), true })
	if found[len(found)-1].Fails {
		return found
	}
	return append(found, lock(ctx, cfg)...)
}

// member begins a session with one member alone.
func member(ctx context.Context, a address, i int) backend.Finding {
	a.Members = a.Members[i : i+1]
	if err := reachable(ctx, a); err != nil {
		return backend.Finding{Warned: true, Detail: err.Error(), Remedy: "see whether it runs, can be reached from here, is of a majority, and takes one connection more from here (maxClientCnxns)"}
	}
	return backend.Finding{Detail: "takes sessions"}
}

func reachable(ctx context.Context, a address) error {
	ctx, cancel := context.WithTimeout(ctx, selftest.ExamineTime)
	defer cancel()
	c, err := connect(a, selftest.ExamineTime)
	if err != nil {
		return err
	}
	defer c.close()
	return c.wait(ctx)
}

// lock takes a lock and gives it back, and tells for how long the session lasts.
func lock(ctx context.Context, cfg Config) []backend.Finding {
	cfg.Node = selftest.DoctorNode()
	t, err := OpenTable(cfg)
	if err != nil {
		return []backend.Finding{selftest.Failure("lock", err, page)}
	}
	defer t.Close()
	t.Listen(func(ledger.Addressed) {})
	ctx, cancel := context.WithTimeout(ctx, 2*selftest.ExamineTime)
	defer cancel()
	s, err := t.listening.Wait(ctx)
	if err != nil {
		return []backend.Finding{selftest.Failure("lock", err, page)}
	}
	f, err := selftest.TakeLock(ctx, s.trial(), cfg.Node.ID)
	if err == nil {
		err = s.deleteAll(ctx, t.due(0))
	}
	if err != nil {
		return []backend.Finding{selftest.Failure("lock", err, page)}
	}
	found := examineRights(ctx, s)
	return append(found, examineSession(s, t.Lease), f)
}

// examineRights warns of znodes that were made before there was a user: they are not for it alone.
func examineRights(ctx context.Context, s *session) []backend.Finding {
	if !s.t.addr.named() {
		return nil
	}
	acl, err := do(ctx, s.c, func(z *zk.Conn) ([]zk.ACL, error) {
		acl, _, err := z.GetACL(s.t.paths.birth())
		return acl, err
	})
	if err != nil || !slices.ContainsFunc(acl, func(a zk.ACL) bool { return a.Scheme == "world" }) {
		return nil
	}
	return []backend.Finding{{
		Check: "rights", Warned: true, Remedy: "take another chroot, or have an administrator set the rights of what is there",
		Detail: "backend.url names a user, but everybody may use what is below " + s.t.paths.root + ", for it was made without one",
	}}
}

// examineSession warns where a dead gateway's names are free later than they have to be.
func examineSession(s *session, lease time.Duration) backend.Finding {
	f := backend.Finding{Check: "session", Detail: fmt.Sprintf("the servers grant %v", s.c.timeout())}
	if asked := s.t.sessionTime(); s.c.timeout() > asked {
		f.Warned = true
		f.Detail += fmt.Sprintf(", and were asked for %v: what a dead gateway held is free only then", asked)
		f.Remedy = "set minSessionTimeout of ZooKeeper to less; where it is not set, it is two of tickTime"
	} else if spare := s.endOf(lease).Spare; spare > 0 {
		f.Warned = true
		f.Detail += fmt.Sprintf(", which is less than lock.ttl of %v needs: what a dead gateway held is free %v after the session", lease, spare.Round(time.Second))
		f.Remedy = "set maxSessionTimeout of ZooKeeper to a minute, or a shorter lock.ttl"
	}
	return f
}
