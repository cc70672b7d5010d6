package socket

import (
	"fmt"
	"testing"

	"github.com/lockgw/lockgw/session"
)

func TestBreak(t *testing.T) {
	root := true
	g := start(t, func(o *setup) {
		o.socket.Admin = func(by session.Peer, token string) (string, bool) {
			return "a test", token == "sesame" || token == "" && by.UID >= 0 && root
		}
	})
	holder, admin := g.dial3(), g.dial()
	fence := holder.lock("a")
	number := fmt.Sprint(fence)
	admin.wantError("INVALID wrong number", "BREAK", "a")
	admin.wantError("INVALID", "BREAK", "a", "FENCE", "x")
	admin.wantError("INVALID", "BREAK", "a", "FENCE", "0")
	admin.wantError("INVALID", "BREAK", "a", "TOKEN", "sesame")
	admin.wantError("INVALID", "BREAK", "a b", "FENCE", number)
	admin.wantError("NOAUTH", "BREAK", "a", "FENCE", number, "TOKEN", "nonsense")
	admin.wantError("CONFLICT", "BREAK", "a", "FENCE", fmt.Sprint(fence+1))
	admin.want("OK", "BREAK", "a", "FENCE", number)
	admin.wantError("NOTHELD", "BREAK", "a", "FENCE", number)
	holder.read() // the push that says so
	holder.wantError("LOST", "UNLOCK", "a")
	root = false
	fence = holder.lock("b")
	admin.wantError("NOAUTH", "BREAK", "b", "FENCE", fmt.Sprint(fence))
	admin.want("OK", "BREAK", "b", "FENCE", fmt.Sprint(fence), "TOKEN", "sesame")
}
