package api

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/lockgw/lockgw/session"
)

// Who names a fence releases that hold and no other, its own as little as that of somebody
// else.
func TestReleaseOfTheSeenFence(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	l := g.acquire("a", token)
	release := func(path, fence, key string) request {
		r := request{method: "DELETE", path: path, token: token, header: http.Header{"If-Match": {fence}}}
		if key != "" {
			r.header.Set("Idempotency-Key", key)
		}
		return r
	}
	other := fmt.Sprintf(`"%d"`, l.Fence+1)
	for _, path := range []string{"/v1/locks/a", "/v1/locks/a?all=true"} {
		refused(t, g.do(release(path, other, "")), 412, session.CodeFenceMismatch)
		refused(t, g.do(release(path, other, "k"+path)), 412, session.CodeFenceMismatch)
		refused(t, g.do(release(path, "nonsense", "")), 400, session.CodeInvalid)
	}
	if again := g.acquire("a", token); again.Count != 2 || again.Fence != l.Fence {
		t.Errorf("after refusals there is %+v, want the same hold, entered twice", again)
	}
	own := fmt.Sprintf(`"%d"`, l.Fence)
	g.must(200, release("/v1/locks/a", own, "k"))
	g.must(200, release("/v1/locks/a", own, "k"))
	refused(t, g.do(release("/v1/locks/a", other, "k")), 409, session.CodeConflict)
	g.must(200, release("/v1/locks/a", own, ""))
	if got := g.acquire("a", token); got.Count != 1 || got.Fence == l.Fence {
		t.Errorf("after the releases there is %+v, want a new hold", got)
	}
}
