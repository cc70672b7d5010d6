package socket

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/session/access"
)

func TestBreak(t *testing.T) {
	control := controlOf(t, access.Config{
		AdminToken: "sesame", Rules: []access.Rule{{Who: []string{"anyone"}, May: []string{"lock"}, Locks: []string{"*"}}, {Who: []string{"user:12345"}, May: []string{"admin"}, Locks: []string{"a"}}},
	})
	g := start(t, withAccess(control))
	holder, admin := g.dial3(), g.dial()
	fence := holder.lock("a")
	number := fmt.Sprint(fence)
	admin.wantError("INVALID wrong number", "BREAK", "a")
	admin.wantError("INVALID", "BREAK", "a", "FENCE", "x")
	admin.wantError("INVALID", "BREAK", "a", "FENCE", "-1")
	admin.wantError("INVALID", "BREAK", "a", "TOKEN", "sesame")
	admin.wantError("INVALID", "BREAK", "a b", "FENCE", number)
	admin.wantError("NOAUTH", "BREAK", "a", "FENCE", number, "TOKEN", "nonsense")
	admin.wantError("CONFLICT", "BREAK", "a", "FENCE", fmt.Sprint(fence+1))
	st, err := g.m.Inspect(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	admin.wantError("INVALID", "BREAK", "a", "FENCE", number, "OWNER", "")
	admin.wantError(`CONFLICT lock "a": another than the owner`, "BREAK", "a", "FENCE", number, "OWNER", "u:1")
	admin.want("OK", "BREAK", "a", "FENCE", number, "OWNER", string(st.Holder.Owner))
	admin.wantError(`CONFLICT lock "a": nobody holds the lock now`, "BREAK", "a", "FENCE", number)
	holder.read() // the push that says so
	holder.wantError("LOST", "UNLOCK", "a")
	fence = holder.lock("b")
	admin.wantError("NOAUTH", "BREAK", "b", "FENCE", fmt.Sprint(fence))
	admin.want("OK", "BREAK", "b", "FENCE", fmt.Sprint(fence), "TOKEN", "sesame")
}

// Whoever guesses the admin token does not get far on one connection, in whatever command.
func TestGuessingTheAdminToken(t *testing.T) {
	g := start(t, withAccess(controlOf(t, access.Config{AdminToken: "sesame"})))
	for _, command := range [][]string{
		{"BREAK", "a", "FENCE", "1", "TOKEN", "guess"}, {"SESSION", "LIST", "TOKEN", "guess"}, {"SESSION", "KILL", "x", "TOKEN", "guess"},
	} {
		w := g.dial()
		w.write(strings.Repeat(encode(command...), 1000))
		if n := strings.Count(w.rest(), "-NOAUTH "); n != maxFailures {
			t.Errorf("%v: %d guesses were answered, want %d and the end", command, n, maxFailures)
		}
	}
}
