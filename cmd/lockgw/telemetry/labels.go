package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// outcome of an acquire.
type outcome int

const (
	outcomeAcquired  outcome = iota
	outcomeReentered         // the caller held it already
	outcomeLocked            // another has it, and no wait was asked
	outcomeTimeout           // another had it for all of the wait
	outcomeCancelled         // the caller has gone, or the gateway is going
	outcomeRefused           // a limit, or a conflict with what is there
	outcomeError             // the store, or a defect
	outcomes
)

var outcomeNames = [outcomes]string{"acquired", "reentered", "locked", "timeout", "cancelled", "refused", "error"}

func outcomeOf(a session.Acquired) outcome {
	switch {
	case a.Err == nil && a.Reentered:
		return outcomeReentered
	case a.Err == nil:
		return outcomeAcquired
	case errors.Is(a.Err, context.Canceled), errors.Is(a.Err, context.DeadlineExceeded):
		return outcomeCancelled
	}
	switch session.CodeOf(a.Err) {
	case session.CodeLocked:
		return outcomeLocked
	case session.CodeWaitTimeout:
		return outcomeTimeout
	case session.CodeSessionEnded, session.CodeDraining:
		return outcomeCancelled
	case session.CodeInvalid, session.CodeConflict, session.CodeTooManyWaiters, session.CodeTooManyHolds, session.CodeUnsupported:
		return outcomeRefused
	default:
		return outcomeError
	}
}

// holdEnd is what ended a hold.
type holdEnd int

const (
	endReleased holdEnd = iota
	endSession          // its session has ended: client gone, silent or closed
	endLost
	holdEnds
)

var endNames = [holdEnds]string{"released", "session_end", "lost"}

// renewOutcome is what came of a renewal.
type renewOutcome int

const (
	renewConfirmed renewOutcome = iota
	renewLate                   // confirmed, but after the deadline
	renewNotHeld                // the store does not have the hold any more
	renewFailed                 // no answer, or a refusal
	renewOutcomes
)

var renewNames = [renewOutcomes]string{"confirmed", "late", "not_held", "failed"}

// labels are the sets of attributes, made once for all values they can have.
type labels struct {
	groups   []attribute.KeyValue                         // by Groups.index; empty: there are no groups
	acquires [outcomes]map[string][][]metric.RecordOption // by the name of the mode; the last index is that of groups, or 0
	ends     [holdEnds][][]metric.RecordOption            // likewise
	renewals [renewOutcomes][]metric.RecordOption
	wakes    map[session.WakePath]wake
}

type wake struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

func newLabels(g Groups) labels {
	l := labels{wakes: map[session.WakePath]wake{}}
	for _, rule := range g {
		l.groups = append(l.groups, attribute.String("lock.group", rule.Group))
	}
	if len(g) > 0 {
		l.groups = append(l.groups, attribute.String("lock.group", other))
	}
	for out := range outcomes {
		l.acquires[out] = map[string][][]metric.RecordOption{}
		for _, m := range []backend.Mode{backend.Exclusive, backend.Shared, 1} { // the last is a semaphore, of any size
			l.acquires[out][m.String()] = l.each(attribute.String("outcome", outcomeNames[out]), attribute.String("mode", m.String()))
		}
	}
	for end := range holdEnds {
		l.ends[end] = l.each(attribute.String("end", endNames[end]))
	}
	for out := range renewOutcomes {
		l.renewals[out] = recordOptions(attribute.String("outcome", renewNames[out]))
	}
	for _, path := range []session.WakePath{session.WakeAnswer, session.WakeLocal, session.WakePush, session.WakePoll} {
		set := metric.WithAttributeSet(attribute.NewSet(attribute.String("path", string(path))))
		l.wakes[path] = wake{[]metric.AddOption{set}, []metric.RecordOption{set}}
	}
	return l
}

// each is the options with these attributes for each group.
func (l labels) each(attributes ...attribute.KeyValue) (all [][]metric.RecordOption) {
	if len(l.groups) == 0 {
		return [][]metric.RecordOption{recordOptions(attributes...)}
	}
	for _, group := range l.groups {
		all = append(all, recordOptions(append(attributes[:len(attributes):len(attributes)], group)...))
	}
	return all
}

func recordOptions(attributes ...attribute.KeyValue) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}
}

// ofLoss are made when they are needed, which is hoped to be never.
func (l *labels) ofLoss(reason string, group int) []metric.AddOption {
	attributes := []attribute.KeyValue{attribute.String("reason", reason)}
	if len(l.groups) > 0 {
		attributes = append(attributes, l.groups[group])
	}
	return []metric.AddOption{metric.WithAttributes(attributes...)}
}
