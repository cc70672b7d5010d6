package sqltable

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/selftest"
)

// ForDoctor is cfg as the doctor takes a lock.
func (cfg Config) ForDoctor() Config {
	cfg.Node, cfg.GuardFile, cfg.Guard = selftest.DoctorNode(), "", GuardNone
	return cfg
}

// TryLock has t, which was opened for the doctor, take a lock that nobody else uses and give it
// back, and says whether messages arrive, and which right is lacking that neither needs.
func (t *Table) TryLock(ctx context.Context, page string) []backend.Finding {
	ctx, cancel := context.WithTimeout(ctx, 2*selftest.ExamineTime)
	defer cancel()
	t.Listen(func(ledger.Addressed) {})
	lock, err := selftest.TakeLock(ctx, selftest.Store{Look: t.Look, Swap: t.Swap}, t.Node())
	if err != nil {
		return []backend.Finding{selftest.Failure("lock", err, page)}
	}
	return append([]backend.Finding{lock, t.push(ctx, page)}, t.rights(ctx, page)...)
}

// rights is empty if none is lacking.
func (t *Table) rights(ctx context.Context, page string) []backend.Finding {
	for _, sql := range t.db.Rights {
		if _, err := t.db.Rows(ctx, sql); err != nil {
			f := selftest.Failure("rights", err, page)
			f.Detail = strings.Fields(sql)[0] + ": " + f.Detail
			return []backend.Finding{f}
		}
	}
	return nil
}

// push waits until the node has heard itself, which it tries by itself, or cannot for a reason
// that stays.
func (t *Table) push(ctx context.Context, page string) backend.Finding {
	ctx, cancel := context.WithTimeout(ctx, selftest.ExamineTime)
	defer cancel()
	for ; ; backend.Wait(ctx, 5*time.Millisecond) {
		err := t.db.Wrong()
		switch {
		case err == nil:
			return backend.Finding{Check: "push", Detail: "messages arrive"}
		case errors.Is(err, backend.ErrPartly):
			what, remedy, _ := strings.Cut(strings.TrimPrefix(err.Error(), backend.ErrPartly.Error()+": "), ": ")
			return backend.Finding{Check: "push", Detail: what, Remedy: remedy, Warned: true}
		case ctx.Err() != nil || t.db.Barred() != nil:
			return selftest.Failure("push", err, page)
		}
	}
}
