package verbs

import (
	"strings"
	"testing"
	"time"

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
