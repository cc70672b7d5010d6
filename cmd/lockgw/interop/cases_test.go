package interop

import (
	"testing"
)

// testCase is a row of the matrix.
type testCase struct {
	id    string
	row   string // as the matrix says it
	suits func(program) bool
	run   func(t *testing.T, c *column) (remark string)
	alone bool // it keeps the machine busy
}

func every(p program) bool    { return p.family != otherTypes }
func single(p program) bool   { return p.family == oneLock }
func redisson(p program) bool { return p.family == oneLock && p.redisson }
func byString(p program) bool { return p.family == oneLock && !p.redisson }
func quorum(p program) bool   { return p.family == overQuorum }
func other(p program) bool    { return p.family == otherTypes }

var cases = []testCase{
	{"ours", "held by lockgw: the program is refused, at once and after waiting", every, ours, false},
	{"theirs", "held by the program: lockgw refuses, at once and after waiting", every, theirs, false},
	{"wake-us", "lockgw waits, the program releases: granted after", every, wakeUs, false},
	{"wake-them", "the program waits, lockgw releases: granted after", every, wakeThem, false},
	{"enter-ours", "lockgw enters three times: the count in Redis is exact, and free only at the end", redisson, enterOurs, false},
	{"enter-theirs", "the program enters three times: lockgw waits until the last exit", redisson, enterTheirs, false},
	{"kill-them", "the program is killed: lockgw gets the lock when its lease is over", every, killThem, false},
	{"kill-us", "the gateway is killed: the program gets the lock when its lease is over", every, killUs, false},
	{"late-theirs", "the program's lease is over: its late release does not touch lockgw's hold", every, lateTheirs, false},
	{"late-ours", "lockgw's lease is over: its late release does not touch the program's hold", every, lateOurs, false},
	{"watchdog-ours", "lockgw renews over many leases, the program stays out", every, watchdogOurs, false},
	{"watchdog-theirs", "the program renews over many leases, lockgw stays out", every, watchdogTheirs, false},
	{"force", "`forceUnlock` of lockgw's hold: the holder is told `lost` (`gone`)", redisson, force, false},
	{"break", "`lockgw break` of the program's hold: the next caller gets it, the program is told when it unlocks", single, breakTheirs, false},
	{"break-ours", "`lockgw break` of lockgw's hold: the waiting program is granted after", redisson, breakOurs, false},
	{"delay", "`lock.delay`: the program stays out for so long after a break", single, delayed, false},
	{"queue", "lockgw's callers wait on two gateways and pass the lock on: no try of the program comes between", single, queue, false},
	{"barge", "the program takes the lock again and again: a caller of lockgw is granted it at the latest when that stops", redisson, barge, false},
	{"crowd", "lockgw's callers on two gateways take the lock again and again: the program is granted it at the latest when they stop", redisson, crowd, false},
	{"fence", "fences rise when both take turns", redisson, fences, false},
	{"counter", "additions to one counter by both at once, none lost, no overlap, no lock without an end", every, counter, true},

	{"fair", "`RFairLock`: excludes, and is excluded", other, as("RFairLock", excludes), false},
	{"fair-wakes-us", "`RFairLock` is released: lockgw is granted after", other, as("RFairLock", silent), false},
	{"fair-woken", "`RFairLock` waits, lockgw releases: granted after", other, as("RFairLock", deaf), false},
	{"fair-counter", "`RFairLock`: additions to one counter, none lost", other, as("RFairLock", counter), true},
	{"spin", "`RSpinLock`: excludes, and is excluded", other, as("RSpinLock", excludes), false},
	{"spin-wakes-us", "`RSpinLock` is released: lockgw is granted after", other, as("RSpinLock", silent), false},
	{"spin-woken", "`RSpinLock` waits, lockgw releases: granted after", other, as("RSpinLock", polls), false},
	{"spin-counter", "`RSpinLock`: additions to one counter, none lost", other, as("RSpinLock", counter), true},
	{"multi", "`RedissonMultiLock` of two names: excludes, and is excluded, by either", other, as("RLocks", byEither), false},
	{"multi-wakes-us", "`RedissonMultiLock` is released: lockgw is granted after", other, as("RLocks", wakeUs), false},
	{"multi-woken", "`RedissonMultiLock` waits, lockgw releases: granted after", other, as("RLocks", wakeThem), false},
	{"multi-counter", "`RedissonMultiLock`: additions to one counter, none lost", other, as("RLocks", counter), true},
	{"read-write", "`RReadWriteLock`, held by the program to read or to write: lockgw's exclusive, shared and `limit` are refused as a `conflict`", other, readWriteHeld, false},
	{"shared", "held by lockgw, `shared` or by a `limit`: `RReadWriteLock` and `RLock` are refused", other, sharesHeld, false},
	{"read-write-late", "`RReadWriteLock`'s lease is over: its late release does not touch lockgw's hold, of any mode", other, readWriteLate, false},
	{"shared-woken", "`RReadWriteLock` waits, lockgw's `shared` is released: granted after", other, as("writeLock", deafToShares), false},
	{"exclusive", "held by lockgw, exclusive (as by an `RLock`): `RReadWriteLock` is refused", other, exclusiveHeld, false},
	{"semaphore", "`RSemaphore` has permits: `limit` is refused as a `conflict`, exclusive and `shared` look after each `ttl` whether it was deleted", other, as("RSemaphore", permitsHeld), false},
	{"permits", "`RPermitExpirableSemaphore` has permits: the same", other, as("RPermitExpirableSemaphore", permitsHeld), false},
	{"permits-refused", "held by lockgw, exclusive, `shared` or by a `limit`: `RSemaphore` and `RPermitExpirableSemaphore` answer", other, permitsRefused, false},
}
