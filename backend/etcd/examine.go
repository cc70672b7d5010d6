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
	c, err := connect(ctx, a)
	if err != nil {
		return []backend.Finding{selftest.Failure("connection", unsent(err), page)}
	}
	defer c.Close()
	found := members(ctx, c, a)
	if found[len(found)-1].Fails {
		return found
	}
	return append(found, lock(ctx, cfg))
}

// members asks each member how it is.
func members(ctx context.Context, c *clientv3.Client, a quorum.Address) (found []backend.Finding) {
	var lacks []string
	for i, e := range c.Endpoints() {
		ctx, cancel := context.WithTimeout(ctx, selftest.ExamineTime)
		st, err := c.Status(ctx, e)
		cancel()
		f := backend.Finding{Check: "member " + a.Members[i]}
		switch {
		case err != nil && errors.Is(toEtcd(err), rpctypes.ErrPermissionDenied):
			continue // the user may not ask
		case err != nil:
			f.Warned, f.Detail, f.Remedy = true, text(err), "see whether it runs and can be reached from here"
			lacks = append(lacks, a.Members[i])
		case st.Leader == 0:
			f.Warned, f.Detail, f.Remedy = true, "knows no leader", "see to it that a majority of the members runs"
			lacks = append(lacks, a.Members[i])
		case len(st.Errors) > 0:
			f.Fails, f.Detail, f.Remedy = true, strings.Join(st.Errors, ", "), "of NOSPACE: compact and defragment etcd, then run `etcdctl alarm disarm`"
		default:
			f.Detail = fmt.Sprintf("etcd %s, %d MB", st.Version, st.DbSize>>20)
		}
		found = append(found, f)
	}
	return append(found, quorum.Answering(a, lacks, "etcd"))
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
