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
}

func every(program) bool      { return true }
func redisson(p program) bool { return p.redisson }
func byString(p program) bool { return !p.redisson }

var cases = []testCase{
	{"ours", "held by lockgw: the program is refused, at once and after waiting", every, ours},
	{"theirs", "held by the program: lockgw refuses, at once and after waiting", every, theirs},
	{"wake-us", "lockgw waits, the program releases: granted after", every, wakeUs},
	{"wake-them", "the program waits, lockgw releases: granted after", every, wakeThem},
	{"enter-ours", "lockgw enters three times: the count in Redis is exact, and free only at the end", redisson, enterOurs},
	{"enter-theirs", "the program enters three times: lockgw waits until the last exit", redisson, enterTheirs},
	{"kill-them", "the program is killed: lockgw gets the lock when its lease is over", every, killThem},
	{"kill-us", "the gateway is killed: the program gets the lock when its lease is over", every, killUs},
	{"late-theirs", "the program's lease is over: its late release does not touch lockgw's hold", every, lateTheirs},
	{"late-ours", "lockgw's lease is over: its late release does not touch the program's hold", every, lateOurs},
	{"watchdog-ours", "lockgw renews over many leases, the program stays out", every, watchdogOurs},
	{"watchdog-theirs", "the program renews over many leases, lockgw stays out", every, watchdogTheirs},
	{"force", "`forceUnlock` of lockgw's hold: the holder is told `lost` (`gone`)", redisson, force},
	{"break", "`lockgw break` of the program's hold: the next caller gets it, the program is told when it unlocks", every, breakTheirs},
	{"break-ours", "`lockgw break` of lockgw's hold: the waiting program is granted after", redisson, breakOurs},
	{"delay", "`lock.delay`: the program stays out for so long after a break", every, delayed},
	{"queue", "lockgw's callers wait on two gateways and pass the lock on: no try of the program comes between", every, queue},
	{"barge", "the program takes the lock again and again: a caller of lockgw is granted it at the latest when that stops", redisson, barge},
	{"crowd", "lockgw's callers on two gateways take the lock again and again: the program is granted it at the latest when they stop", redisson, crowd},
	{"fence", "fences rise when both take turns", redisson, fences},
}

var counterCase = testCase{"counter", "additions to one counter by both at once, none lost, no overlap, no lock without an end", every, counter}
