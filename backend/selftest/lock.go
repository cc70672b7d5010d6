package selftest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// ExamineTime bounds each question of the doctor.
const ExamineTime = 3 * time.Second

// Failure says the doctor that the store does not do what check is about; page is where to read on.
func Failure(check string, err error, page string) backend.Finding {
	return backend.Finding{Check: check, Detail: Reason(err), Remedy: "see " + page, Fails: true}
}

// Reason is err without the words that say that it is a refusal.
func Reason(err error) string {
	return strings.TrimPrefix(err.Error(), backend.ErrRefused.Error()+": ")
}

// DoctorNode is the node as which the doctor takes its lock.
func DoctorNode() backend.Node { return backend.Node{ID: "doctor-" + rand.Text()} }

// TakeLock has node take a lock that nobody else uses and give it back, for the doctor.
func TakeLock(ctx context.Context, s Store, node string) (backend.Finding, error) {
	begin := time.Now()
	l, err := Take(ctx, s, "lockgw:doctor:"+node, node, "")
	took := time.Since(begin)
	begin = time.Now()
	if err == nil {
		err = l.GiveBack(ctx)
	}
	const fine = 10 * time.Microsecond
	return backend.Finding{Check: "lock", Detail: fmt.Sprintf("taken in %v and given back in %v", took.Round(fine), time.Since(begin).Round(fine))}, err
}

// Lock is one that nobody else uses, taken to see whether it is granted. It is free after a few
// seconds, also if it is not given back.
type Lock struct {
	s    Store
	name string
	node string
	got  ledger.Reply
}

// Take has node take name, which has never been used. about is kept with it.
func Take(ctx context.Context, s Store, name, node, about string) (Lock, error) {
	op := ledger.Op{Node: node, Want: 1, Turns: 1, TTL: 3 * time.Second}
	if about != "" {
		op.Callers = []ledger.Caller{{Owner: backend.Owner(node), Entries: 1, About: about}}
	}
	next, effects := ledger.Step(ledger.Record{}, op, 0)
	r, err := s.Swap(ctx, ledger.Swap{Name: name, Record: next, Effects: effects})
	return Lock{s, name, node, r}, err
}

// GiveBack gives it back, if it was granted.
func (l Lock) GiveBack(ctx context.Context) error {
	h := l.got.Record.Firm(l.node)
	if !l.got.Written || h == nil {
		return nil
	}
	next, effects := ledger.Step(l.got.Record, ledger.Op{Verb: ledger.Leave, Node: l.node, Hold: h.ID}, 0)
	_, err := l.s.Swap(ctx, ledger.Swap{Name: l.name, Base: l.got.Version, Record: next, Effects: effects})
	return err
}
