package etcd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// Finding is what was found out about one thing. It fails if locks do not work, and is a
// warning if they work, but less well than they could.
type Finding struct {
	Check         string // what was looked at, a word or two
	Detail        string
	Remedy        string // what to do about it; "" where nothing has to be done
	Fails, Warned bool
}

// examineTime bounds each question.
const examineTime = 3 * time.Second

// Examine looks for what is wrong with the members that cfg names, and takes a lock that
// nobody else uses and gives it back. cfg.Node is not used.
func Examine(ctx context.Context, cfg Config) []Finding {
	a, err := scheme.Parse(cfg.URL)
	if err != nil {
		return []Finding{{Check: "address", Detail: err.Error(), Remedy: "correct backend.url", Fails: true}}
	}
	c, err := connect(ctx, a)
	if err != nil {
		return []Finding{failure("connection", unsent(err))}
	}
	defer c.Close()
	found := members(ctx, c, a)
	if found[len(found)-1].Fails {
		return found
	}
	return append(found, lock(ctx, cfg))
}

func failure(check string, err error) Finding {
	return Finding{Check: check, Detail: err.Error(), Remedy: "see docs/etcd.md", Fails: true}
}

// members asks each member how it is.
func members(ctx context.Context, c *clientv3.Client, a quorum.Address) (found []Finding) {
	var (
		up    int
		lacks []string
	)
	for i, e := range c.Endpoints() {
		ctx, cancel := context.WithTimeout(ctx, examineTime)
		st, err := c.Status(ctx, e)
		cancel()
		f := Finding{Check: "member " + a.Members[i]}
		switch {
		case err != nil && errors.Is(toEtcd(err), rpctypes.ErrPermissionDenied):
			up++
			continue // the user may not ask
		case err != nil:
			f.Warned, f.Detail, f.Remedy = true, text(err), "see whether it runs and can be reached from here"
			lacks = append(lacks, a.Members[i])
		case st.Leader == 0:
			f.Warned, f.Detail, f.Remedy = true, "knows no leader", "see to it that a majority of the members runs"
		case len(st.Errors) > 0:
			f.Fails, f.Detail, f.Remedy = true, strings.Join(st.Errors, ", "), "of NOSPACE: compact and defragment etcd, then run `etcdctl alarm disarm`"
			up++
		default:
			f.Detail = fmt.Sprintf("etcd %s, %d MB", st.Version, st.DbSize>>20)
			up++
		}
		found = append(found, f)
	}
	if up == 0 {
		return append(found, Finding{Check: "connection", Detail: "no member can be reached: " + strings.Join(lacks, ", "), Remedy: "correct backend.url, or start etcd", Fails: true})
	}
	return append(found, Finding{Check: "connection", Detail: fmt.Sprintf("%d of %d members that backend.url names answer", up, len(a.Members))})
}

// lock takes a lock and gives it back.
func lock(ctx context.Context, cfg Config) Finding {
	cfg.Node = backend.Node{ID: "doctor-" + rand.Text()}
	t, err := OpenTable(cfg)
	if err != nil {
		return failure("lock", err)
	}
	defer t.Close()
	t.Listen(func(ledger.Addressed) {})
	ctx, cancel := context.WithTimeout(ctx, 2*examineTime)
	defer cancel()
	name := "lockgw:doctor:" + cfg.Node.ID
	begin := time.Now()
	next, effects := ledger.Step(ledger.Record{}, ledger.Op{Node: cfg.Node.ID, Want: 1, Turns: 1, TTL: examineTime}, 0)
	r, err := t.Swap(ctx, ledger.Swap{Name: name, Record: next, Effects: effects})
	took := time.Since(begin)
	if err == nil && r.Written {
		begin = time.Now()
		next, effects = ledger.Step(r.Record, ledger.Op{Verb: ledger.Leave, Node: cfg.Node.ID, Hold: r.Record.Top}, 0)
		_, err = t.Swap(ctx, ledger.Swap{Name: name, Base: r.Version, Record: next, Effects: effects})
		if err == nil {
			err = t.delete(ctx, t.due(0))
		}
	}
	if err != nil {
		return failure("lock", err)
	}
	return Finding{Check: "lock", Detail: fmt.Sprintf("taken in %v and given back in %v", took.Round(10*time.Microsecond), time.Since(begin).Round(10*time.Microsecond))}
}
