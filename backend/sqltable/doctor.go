package sqltable

import (
	"context"
	"crypto/rand"
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

// DoctorNode is the node as which the doctor takes its lock.
func DoctorNode() backend.Node { return backend.Node{ID: "doctor-" + rand.Text()[:8]} }

// TryLock has t, which the doctor has opened, take a lock that nobody else uses and give it
// back; push says whether it is told of it.
func TryLock(ctx context.Context, t ledger.Table, page string, push func(context.Context) backend.Finding) []backend.Finding {
	ctx, cancel := context.WithTimeout(ctx, 2*ExamineTime)
	defer cancel()
	t.Listen(func(ledger.Addressed) {})
	lock, err := selftest.TakeLock(ctx, t, t.Node())
	if err != nil {
		return []backend.Finding{Failure("lock", err, page)}
	}
	return []backend.Finding{lock, push(ctx)}
}
