package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// The status names the machines that have not answered, and since when it is about them.
func TestStatusOfTheSilent(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	text := func(silent ...session.Silent) string {
		b, err := json.Marshal(statusOf(session.Status{Name: "x", Silent: silent}))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if got, want := text(session.Silent{Node: "host-b", AsOf: at}, session.Silent{}), `"silent":[{"node":"host-b","as_of":"2026-01-02T03:04:05Z"},{}]`; !strings.Contains(got, want) {
		t.Errorf("%s, want %s in it", got, want)
	}
	if got := text(); strings.Contains(got, "silent") {
		t.Errorf("%s, where all have answered", got)
	}
}
