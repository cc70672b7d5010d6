package run

import (
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/socket/client"
)

func TestWaitText(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	holder := &client.Holder{Node: "host-b", Process: client.Process{PID: 4411, Command: "backup.sh"}, Since: now.Add(-192 * time.Second)}
	queue := []client.Holder{{Owner: "other:1"}, {Owner: "me:1"}}
	for _, tt := range []struct {
		w    waitLine
		want string
	}{
		{
			waitLine{known: client.Status{Holder: holder, Queue: queue, Waiters: 3}, o: &options{wait: 30 * time.Minute}},
			"waiting for nightly - held by host-b pid 4411 (backup.sh) for 3m12s - 2nd of 3 - gives up in 26m48s",
		},
		{
			waitLine{known: client.Status{Queue: queue, Ahead: 3, Waiters: 6}, o: &options{forever: true}},
			"waiting for nightly - 5th of 6",
		},
		{waitLine{o: &options{forever: true}}, "waiting for nightly"},
		{waitLine{known: client.Status{Queue: queue[:1]}, o: &options{wait: time.Minute}}, "waiting for nightly - gives up in 0s"},
		{
			waitLine{known: client.Status{Holder: &client.Holder{Owner: "u:1", Note: "x"}}, o: &options{forever: true}},
			"waiting for nightly - held by u:1",
		},
		{ // what others have chosen controls no terminal, and takes one line
			waitLine{known: client.Status{Trouble: "store: \x1b[2J\nNOAUTH"}, o: &options{forever: true}},
			"waiting for nightly - store: ?[2J?NOAUTH",
		},
	} {
		tt.w.name, tt.w.owner, tt.w.start = "nightly", "me:1", now.Add(-192*time.Second)
		if got := tt.w.text(now, 0); got != tt.want {
			t.Errorf("text = %q, want %q", got, tt.want)
		}
	}
}

// On a narrow terminal the place and the end of the wait stay in sight.
func TestWaitTextOnANarrowTerminal(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	holder := &client.Holder{Node: "host-b.example.net", Process: client.Process{PID: 4411, Command: "backup.sh"}, Since: now.Add(-192 * time.Second)}
	w := waitLine{
		name: "reports/nightly", owner: "me:1", start: now, o: &options{wait: 30 * time.Minute},
		known: client.Status{Holder: holder, Queue: []client.Holder{{Owner: "me:1"}}, Waiters: 1},
	}
	const end = " - 1st of 1 - gives up in 30m"
	got := w.text(now, 80)
	if len(got) >= 80 || !strings.HasPrefix(got, "waiting for reports/nightly - held by host-b") || !strings.HasSuffix(got, end) {
		t.Errorf("text = %q, want less than 80 characters with the name and %q", got, end)
	}
}
