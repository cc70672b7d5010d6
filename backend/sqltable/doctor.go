package sqltable

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/selftest"
)

// ExamineTime bounds each question of the doctor.
const ExamineTime = 3 * time.Second

// Failure says the doctor that the database does not do what check is about; page is where to
// read on.
func Failure(check string, err error, page string) backend.Finding {
	return backend.Finding{Check: check, Detail: Reason(err), Remedy: "see " + page, Fails: true}
}

// ForDoctor is cfg as the doctor takes a lock.
func (cfg Config) ForDoctor() Config {
	cfg.Node, cfg.GuardFile, cfg.Guard = backend.Node{ID: "doctor-" + rand.Text()[:8]}, "", GuardNone
	return cfg
}

// TryLock has t, which was opened for the doctor, take a lock that nobody else uses and give it
// back, and says whether messages arrive.
func (t *Table) TryLock(ctx context.Context, page string) []backend.Finding {
	ctx, cancel := context.WithTimeout(ctx, 2*ExamineTime)
	defer cancel()
	t.Listen(func(ledger.Addressed) {})
	lock, err := selftest.TakeLock(ctx, t, t.Node())
	if err != nil {
		return []backend.Finding{Failure("lock", err, page)}
	}
	return []backend.Finding{lock, t.push(ctx, page)}
}

// push waits until the node has heard itself, which it tries by itself, or cannot for a reason
// that stays.
func (t *Table) push(ctx context.Context, page string) backend.Finding {
	ctx, cancel := context.WithTimeout(ctx, ExamineTime)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := t.db.Wrong()
		switch {
		case err == nil:
			return backend.Finding{Check: "push", Detail: "messages arrive"}
		case errors.Is(err, backend.ErrPartly):
			what, remedy, _ := strings.Cut(strings.TrimPrefix(err.Error(), backend.ErrPartly.Error()+": "), ": ")
			return backend.Finding{Check: "push", Detail: what, Remedy: remedy, Warned: true}
		case ctx.Err() != nil || t.db.Barred() != nil:
			return Failure("push", err, page)
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
