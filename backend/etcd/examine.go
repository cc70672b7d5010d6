package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
	"github.com/lockgw/lockgw/backend/selftest"
)

// page is where people read on.
const page = "docs/etcd.md"

// Examine looks for what is wrong with the members that cfg names, and takes a lock that
// nobody else uses and gives it back. cfg.Node is not used.
func Examine(ctx context.Context, cfg Config) []backend.Finding {
	a, err := scheme.Parse(cfg.URL)
	if err != nil {
		return []backend.Finding{{Check: "address", Detail: err.Error(), Remedy: "correct backend.url", Fails: true}}
	}
	c, err := connect(ctx, a, cfg.Password)
	if err != nil {
		return []backend.Finding{selftest.Failure("connection", unsent(err), page)}
	}
	defer c.Close()
	found := quorum.Examine(a, "etcd", func(i int) (backend.Finding, bool) { return member(ctx, c, c.Endpoints()[i]) })
	if found[len(found)-1].Fails {
		return found
	}
	return append(found, lock(ctx, cfg))
}

// member asks the one at e how it is; false: the user may not ask.
func member(ctx context.Context, c *clientv3.Client, e string) (f backend.Finding, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, selftest.ExamineTime)
	defer cancel()
	st, err := c.Status(ctx, e)
	switch {
	case err != nil && errors.Is(toEtcd(err), rpctypes.ErrPermissionDenied):
		return f, false
	case err != nil:
		f.Warned, f.Detail, f.Remedy = true, text(err), "see whether it runs and can be reached from here"
	case st.Leader == 0:
		f.Warned, f.Detail, f.Remedy = true, "knows no leader", "see to it that a majority of the members runs"
	case len(st.Errors) > 0:
		f.Fails, f.Detail, f.Remedy = true, strings.Join(st.Errors, ", "), "of NOSPACE: compact and defragment etcd, of CORRUPT: replace the member that differs (`etcdctl endpoint hashkv --cluster`), then run `etcdctl alarm disarm`"
	case st.IsLearner:
		f.Warned, f.Detail, f.Remedy = true, "is a learner, which takes no requests", "promote it (`etcdctl member promote`)"
	default:
		f.Detail = fmt.Sprintf("etcd %s, %d MB", st.Version, st.DbSize>>20)
	}
	return f, true
}

// lock takes a lock and gives it back.
func lock(ctx context.Context, cfg Config) backend.Finding {
	cfg.Node = selftest.DoctorNode()
	t, err := OpenTable(cfg)
	if err != nil {
		return selftest.Failure("lock", err, page)
	}
	defer t.Close()
	t.Listen(func(ledger.Addressed) {})
	ctx, cancel := context.WithTimeout(ctx, 2*selftest.ExamineTime)
	defer cancel()
	f, err := selftest.TakeLock(ctx, selftest.Store{Look: t.Look, Swap: t.Swap}, cfg.Node.ID)
	if err == nil {
		err = t.delete(ctx, t.due(0))
	}
	if err != nil {
		return selftest.Failure("lock", err, page)
	}
	return f
}
