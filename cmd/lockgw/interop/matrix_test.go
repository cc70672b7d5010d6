package interop

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// matrix is what each case has shown of each column.
type matrix struct {
	mu      sync.Mutex // guards the fields below
	columns []column   // in the order in which they ran
	cells   map[string]string
}

func cellKey(c column, k testCase) string { return c.store.mode + "\t" + c.title() + "\t" + k.id }

// run runs a case and keeps what it has shown.
func (m *matrix) run(t *testing.T, c column, k testCase) {
	remark := "**failed**"
	defer func() {
		if t.Failed() {
			remark = "**failed**"
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.cells == nil {
			m.cells = map[string]string{}
		}
		m.cells[cellKey(c, k)] = remark
		same := func(o column) bool { return o.store.mode == c.store.mode && o.title() == c.title() }
		if !slices.ContainsFunc(m.columns, same) {
			m.columns = append(m.columns, c)
		}
	}()
	remark = k.run(t, &c)
}

var sections = []struct {
	mode, title string
	suits       func(program) bool
	text        string
}{
	{"single", "Redisson on one server", redisson, ""},
	{"sentinel", "Redisson on Sentinel", redisson, "Three sentinels, a master and a replica."},
	{"cluster", "Redisson on Cluster", redisson, "Three masters. Redisson publishes and listens by shard (`SPUBLISH`), as does lockgw."},
	{"single", "Other types of Redisson on one server", other, otherText},
	{"redlock", "Redisson over three servers, beside `redlock://`", quorum, "Three servers that know nothing of each other, and lockgw with all three in `redlock://`. Redisson's lock is one of an `RLock` on each of them, by a client each."},
	{"single", "Libraries that lock by `SET NX PX`", byString, "Nothing tells that a key was deleted, so a waiting gateway looks when the lease that it has seen is over, and once in each `ttl` of who waits."},
	{"events", "The same, with `notify-keyspace-events Kg`", byString, "Redis tells the gateway that a key was deleted."},
}

// text is the matrix in Markdown.
func (m *matrix) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, s := range sections {
		var columns []column
		for _, c := range m.columns {
			if c.store.mode == s.mode && s.suits(c.program) {
				columns = append(columns, c)
			}
		}
		if len(columns) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n", s.title)
			if s.text != "" {
				fmt.Fprintf(&b, "%s\n\n", s.text)
			}
			m.table(&b, columns)
		}
	}
	return b.String()
}

func (m *matrix) table(b *strings.Builder, columns []column) {
	head, rule := "|", "|---|"
	for _, c := range columns {
		head += " | " + c.title()
		rule += "---|"
	}
	fmt.Fprintf(b, "%s |\n%s\n", head, rule)
	for _, k := range cases {
		if !k.suits(columns[0].program) {
			continue
		}
		line := "| " + k.row
		for _, c := range columns {
			line += " | " + m.cells[cellKey(c, k)]
		}
		fmt.Fprintf(b, "%s |\n", line)
	}
}

const preface = `# Beside other programs

For users, in three lines:

- A Redisson ` + "`" + `RLock` + "`" + ` or ` + "`" + `RFencedLock` + "`" + ` and a lock of lockgw with the same name exclude each other and wake each other within a tenth of a second, with nothing to set.
- Libraries that lock by ` + "`" + `SET NX PX` + "`" + ` (redis-py, node-redlock, redsync, bsm/redislock) and lockgw exclude each other; to be woken at once instead of at the end of the lease, set ` + "`" + `notify-keyspace-events Kg` + "`" + ` in Redis.
- ` + "`" + `RReadWriteLock` + "`" + `, ` + "`" + `RSemaphore` + "`" + ` and the like have layouts of their own: give them other names.

Programs that lock on the same Redis without lockgw, and callers of lockgw, on the same name. ` + "`make interop`" + ` writes this page: each cell is a test with the real library, real servers and real gateways (` + "`cmd/lockgw/interop`" + `).

- Leases are 3 s where a row waits for the end of one, and 30 s where it does not. The watchdog of Redisson is set to 3 s.
- A wake-up is measured from the call of the release to the answer of the grant, the median of five; none of them took longer than a second. With ` + "`lockgw break`" + ` the start of that command is measured, too.
- The counter is read and written in two steps. Half of the additions are the program's, by four threads; the others are made through ` + "`resp.sock`" + `, ` + "`http.sock`" + ` and ` + "`curl`" + `, on two gateways. Meanwhile ` + "`PTTL`" + ` tells whether the lock has an end.
- bsm/redislock answers with an error (` + "`WRONGTYPE`" + `) while a lock is lockgw's, and does not try again by itself; the program of this test does.
`

const otherText = "`RFairLock`, `RSpinLock` and `RedissonMultiLock` are an `RLock` in Redis, so they and lockgw exclude each other. Some do not tell of a release, and some do not listen where one is told; then the rest of a lease is waited for. Read-write locks and semaphores need names of their own, as they do beside an `RLock`: **an `RReadWriteLock` looks only for its own marks, and enters a name that lockgw or an `RLock` holds exclusively; a reader that leaves ends that hold**."

const missed = `
## A wake-up that Redisson misses

A release can pass unnoticed by who waits in ` + "`RFencedLock.tryLockAndGetToken`" + `, or in ` + "`tryLockAsync`" + ` or ` + "`lockAsync`" + ` of an ` + "`RLock`" + `, be it lockgw's or another program's; the waiter then sleeps for the rest of the lease that it saw. ` + "`LockPubSub.onMessage`" + ` calls ` + "`RedissonLockEntry.tryRunListener`" + `, which finds no listener, and then ` + "`getLatch().release()`" + `. If between the two the waiter runs ` + "`RedissonLockEntry.addListener`" + `, which adds its listener and looks at the latch, then the permit stays in the latch and the listener in its queue. ` + "`lock`" + ` and ` + "`tryLock`" + ` of an ` + "`RLock`" + ` wait for the latch alone, where the permit stays until it is taken. ` + "`sh cmd/lockgw/interop/run.sh -run TestHandOver -handovers 20000 -only 'Redisson 4.7.0 RFencedLock'`" + ` releases at that moment: in two runs 7 of 40,000 were missed, and each time ` + "`MONITOR`" + ` showed the ` + "`PUBLISH`" + ` after the program's ` + "`SUBSCRIBE`" + ` and its last look, and Redisson's memory one permit left and one listener left. With these methods alone, called in that order and without Redis, the test shows the same for 3.52.0 and 4.7.0. Of 80,000 hand-overs the other way, to a waiter of lockgw, none was missed. A shorter ` + "`lock.ttl`" + ` makes such a sleep shorter.
`

// page is docs/interop.md.
func (m *matrix) page() string { return preface + m.text() + missed }
