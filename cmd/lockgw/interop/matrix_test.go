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
	{"single", "Libraries that lock by `SET NX PX`", byString, "Nothing tells that a key was deleted, so a waiting gateway looks when the lease that it has seen is over."},
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
	for _, k := range append(slices.Clone(cases), counterCase) {
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

Programs that lock on the same Redis without lockgw, and callers of lockgw, on the same name. ` + "`make interop`" + ` writes this page: each cell is a test with the real library, real servers and real gateways (` + "`cmd/lockgw/interop`" + `).

- Leases are 3 s where a row waits for the end of one, and 30 s where it does not. The watchdog of Redisson is set to 3 s.
- A wake-up is measured from the call of the release to the answer of the grant, the median of five; none of them took longer than a second. With ` + "`lockgw break`" + ` the start of that command is measured, too.
- The counter is read and written in two steps. Half of the additions are the program's, by four threads; the others are made through ` + "`resp.sock`" + `, ` + "`http.sock`" + ` and ` + "`curl`" + `, on two gateways. Meanwhile ` + "`PTTL`" + ` tells whether the lock has an end.
- bsm/redislock answers with an error (` + "`WRONGTYPE`" + `) while a lock is lockgw's, and does not try again by itself; the program of this test does.
- Redisson's other types of lock (fair, read-write, semaphores) need names of their own.
`

// page is docs/interop.md.
func (m *matrix) page() string { return preface + m.text() }
