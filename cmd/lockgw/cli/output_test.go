package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/socket/client"
)

// A name that is wider than its column moves its own row and no other.
func TestLongNameMovesItsRowAlone(t *testing.T) {
	long := strings.Repeat("x", 200)
	all := []client.Status{{Name: "nightly", State: client.Held}, {Name: long, State: client.Held}}
	var out bytes.Buffer
	if err := (Output{Format: "table"}).WriteLocks(&out, all, time.Now()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if !strings.HasPrefix(lines[0], "NAME      STATE") || !strings.HasPrefix(lines[1], "nightly   held ") || !strings.HasPrefix(lines[2], long+"   held ") {
		t.Errorf("table =\n%s\nwant the column of names as wide as nightly, and the long name whole", out.String())
	}
}

// Since when a program outside lockgw holds a lock is not known, and none is not 0s.
func TestSinceOfAProgramOutside(t *testing.T) {
	now := time.Now()
	known := client.Holder{Node: "host-b", Since: now.Add(-time.Minute)}
	all := []client.Status{{Name: "nightly", State: client.Held, Holder: &known}, {Name: "outside", State: client.Held, Holder: &client.Holder{Owner: "java:1"}}}
	var out bytes.Buffer
	if err := (Output{Format: "table"}).WriteLocks(&out, all, now); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if got, want := strings.Fields(lines[1])[3], "1m"; got != want {
		t.Errorf("a caller of lockgw holds since %s ago, want %s", got, want)
	}
	if got, want := strings.Fields(lines[2])[3], "-"; got != want {
		t.Errorf("a program outside holds since %s, want %s", got, want)
	}
}

// Where more may wait than are known, the table and the JSON say so.
func TestMoreMayWait(t *testing.T) {
	all := []client.Status{{Name: "nightly", State: client.Held, Waiters: 3, MoreWait: true}, {Name: "daily", State: client.Held, Waiters: 3}}
	for format, want := range map[string][]string{"table": {" 3+ ", " 3 "}, "json": {`"waiters_at_least": true`}} {
		var out bytes.Buffer
		if err := (Output{Format: format}).WriteLocks(&out, all, time.Now()); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if strings.Count(out.String(), w) != 1 {
				t.Errorf("%s =\n%s\nwant %q once", format, out.String(), w)
			}
		}
	}
}

func TestUnknownVariables(t *testing.T) {
	t.Setenv("LOCKGW_WAITT", "3s")
	t.Setenv("LOCKGW_WAIT", "3s")
	t.Setenv("LOCKGW_PORT_7420_TCP", "tcp://10.0.0.1:7420") // by Kubernetes
	t.Setenv("LOCKGW_SERVICE_HOST", "10.0.0.1")
	var got []string
	for _, w := range UnknownVariables([]string{"LOCKGW_WAIT"}) {
		if strings.Contains(w, "WAIT") || strings.Contains(w, "PORT") || strings.Contains(w, "SERVICE") {
			got = append(got, w)
		}
	}
	if want := `unknown environment variable LOCKGW_WAITT, did you mean "LOCKGW_WAIT"?`; len(got) != 1 || got[0] != want {
		t.Errorf("warnings = %q, want %q alone", got, want)
	}
}
