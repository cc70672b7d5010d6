package api

import (
	"context"
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/session"
)

// atGrant does something right after a grant, before the front hears of it.
type atGrant struct{ do func() }

func (o *atGrant) Begin(ctx context.Context, _ session.Operation) context.Context { return ctx }
func (o *atGrant) Detach(context.Context) context.Context                         { return nil }
func (o *atGrant) Acquired(context.Context, session.Acquired)                     { o.do() }
func (o *atGrant) Given(context.Context, session.Given)                           {}
func (o *atGrant) Ended(session.HoldEnded)                                        {}
func (o *atGrant) Renewed(session.Renewed)                                        {}

// A client that hangs up just as it is granted its hold was told of nothing, and no min_hold
// keeps the name.
func TestHoldOrphanGrant(t *testing.T) {
	o := &atGrant{}
	g := newGateway(t, session.Config{Observer: o})
	h := New(Config{Manager: g.m})
	for name, tok := range map[string]string{"a": "", "b": g.open()} {
		ctx, hangUp := context.WithCancel(t.Context())
		o.do = hangUp
		req := g.request(request{method: "POST", path: "/v1/locks/" + name + "/hold?min_hold=60s", token: tok})
		req.Body = http.NoBody
		c, rec := ginContext(req.WithContext(context.WithValue(ctx, identityKey{}, h.identify(req))))
		c.Params = gin.Params{{Key: "name", Value: name}}
		if err := h.hold(c); err == nil || rec.Body.Len() > 0 {
			t.Errorf("%s: hold = %v, body %q, want an error and no body", name, err, rec.Body)
		}
		if st := g.state(name); st.State != session.StateFree {
			t.Errorf("%s: state = %s, want free", name, st.State)
		}
	}
	if n := g.m.Stats().Sessions; n != 1 {
		t.Errorf("sessions = %d, want only the one that was opened by itself", n)
	}
}
