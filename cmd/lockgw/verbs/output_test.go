package verbs

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// Whoever writes to the store, or just names a lock, commands nobody's terminal.
func TestTablesArePrintable(t *testing.T) {
	const name = "a\x1b[2J\u202etxt.b"
	holder := client.Holder{Owner: name + "\n", Node: name, Note: name, Process: client.Process{PID: 1, Command: name}}
	locks := []client.Status{{Name: name, State: client.Held, Holder: &holder}}
	var list, wide, one, held strings.Builder
	for _, err := range []error{
		cli.Output{Format: "table"}.WriteLocks(&list, locks, time.Now()), cli.Output{Format: "wide"}.WriteLocks(&wide, locks, time.Now()),
		writeBlock(&one, locks[0], time.Now()),
		writeSession(&held, client.SessionInfo{Holds: []client.Hold{{Name: name}}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for what, out := range map[string]string{"ls": list.String(), "ls -o wide": wide.String(), "status": one.String(), "session info": held.String()} {
		if strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
			t.Errorf("%s writes %q", what, out)
		}
		if !strings.Contains(out, "a?[2J?txt.b") {
			t.Errorf("%s does not tell the name: %q", what, out)
		}
	}
}

// As over HTTP there is no uid where nobody knows it.
func TestSessionsWithoutUID(t *testing.T) {
	for uid, want := range map[int]bool{-1: false, 0: true, 1000: true} {
		var out strings.Builder
		if err := writeSessions(&out, cli.Output{Format: "json"}, []client.Summary{{ID: "a", Process: client.Process{UID: uid}}}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), fmt.Sprintf(`"uid": %d,`, uid)); got != want || !want && strings.Contains(out.String(), `"uid"`) {
			t.Errorf("a session of user %d: %s", uid, out.String())
		}
	}
}
