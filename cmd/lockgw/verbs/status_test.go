package verbs

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

func TestStatusOfSeveral(t *testing.T) {
	now := time.Now()
	st := client.Status{Name: "db", State: client.Held, Mode: client.Semaphore, Limit: 9, Holders: 4, Fence: 7, TTL: 20 * time.Second}
	for i, pid := range []int{11, 12} {
		h := client.Holder{Node: "host-a", Process: client.Process{PID: pid, Command: "job"}, Since: now.Add(-time.Minute)}
		st.Shares = append(st.Shares, client.Share{Holder: h, Fence: uint64(5 + i), TTL: 10 * time.Second})
	}
	var b strings.Builder
	if err := writeBlock(&b, st, now); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1st holder:  host-a pid 11 (job), for 1m, fence 5, 10s left", "2nd holder:  host-a pid 12 (job), for 1m, fence 6, 10s left",
		"Others:      2 more hold it",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("status is\n%swant %q in it", b.String(), want)
		}
	}
	st.Holders, st.Shares = 1, st.Shares[:1]
	b.Reset()
	if err := writeBlock(&b, st, now); err != nil || strings.Contains(b.String(), "1st holder") {
		t.Errorf("status of one holder is\n%s, %v, want no list", b.String(), err)
	}
}

// Who reads a status is told which machines have not answered, and how old it is of these.
func TestStatusOfTheSilent(t *testing.T) {
	now := time.Now()
	st := client.Status{Name: "db", State: client.Held, Silent: []client.Silent{{Node: "host-b", AsOf: now.Add(-2 * time.Minute)}, {}}}
	var b strings.Builder
	if err := writeBlock(&b, st, now); err != nil {
		t.Fatal(err)
	}
	want := "  No answer:  from host-b; what is told of it is as of 2m ago\n" +
		"  No answer:  from a machine that waits; what is told of it is as of its last write\n"
	if !strings.HasSuffix(b.String(), want) {
		t.Errorf("status is\n%swant at its end\n%s", b.String(), want)
	}
}

// The places are those of all gateways, as run tells them, and who is next is named also if
// it waits at another one.
func TestStatusOfTheQueue(t *testing.T) {
	now := time.Now()
	waits := func(node string, pid int) client.Holder {
		return client.Holder{Owner: node, Node: node, Process: client.Process{PID: pid, Command: "job"}, Since: now.Add(-time.Minute)}
	}
	first := waits("host-b", 11)
	st := client.Status{Name: "db", State: client.Held, Holders: 1, Waiters: 4, Next: &first, Queue: []client.Holder{waits("host-a", 21), waits("host-a", 22)}}
	want := func(ahead int, lines ...string) {
		t.Helper()
		var b strings.Builder
		if err := writeBlock(&b, st, now); err != nil {
			t.Fatal(err)
		}
		_, queue, _ := strings.Cut(b.String(), "Waiters:  4\n")
		if want := "  " + strings.Join(lines, ", waiting for 1m\n  ") + ", waiting for 1m\n"; queue != want {
			t.Errorf("with %d ahead the queue is\n%swant\n%s", ahead, queue, want)
		}
	}
	st.Ahead = 2
	want(2, "1st:      host-b pid 11 (job)", "3rd:      host-a pid 21 (job)", "4th:      host-a pid 22 (job)")
	st.Next = &client.Holder{} // it is not known who
	want(2, "3rd:      host-a pid 21 (job)", "4th:      host-a pid 22 (job)")
	st.Ahead, st.Next = 0, &st.Queue[0]
	want(0, "1st:      host-a pid 21 (job)", "2nd:      host-a pid 22 (job)")
}

// away is a store that cannot be asked.
type away struct{ ledger.Table }

func (away) Look(context.Context, string) (ledger.Reply, error) {
	return ledger.Reply{}, fmt.Errorf("%w: connection refused", backend.ErrUnavailable)
}

// A script must not take what the store does not say for a lock that nobody holds.
func TestStatusOfTheUnknown(t *testing.T) {
	_, g := gatewayOver(t, away{memory.OpenTable(memory.NewRows(), "a")})
	for _, format := range []string{"table", "json", "name"} {
		var b strings.Builder
		cmd := NewStatus()
		cmd.SetOut(&b)
		cmd.SetArgs([]string{"db", "--socket", g.Socket, "-o", format})
		code, message := cli.ExitCode(cmd.ExecuteContext(t.Context()))
		if code != cli.ExitUnavailable || !strings.Contains(message, "db") || !strings.Contains(message, "connection refused") {
			t.Errorf("-o %s ends with %d, %q, want %d and why", format, code, message, cli.ExitUnavailable)
		}
		if !strings.Contains(b.String(), "db") || format != "name" && !strings.Contains(b.String(), string(client.Unknown)) {
			t.Errorf("-o %s wrote %q, want what is known all the same", format, b.String())
		}
	}
}
