package api

import (
	"net"
	"net/http"
	"testing"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// A process that began after its client has connected is another one with its number.
func TestAcceptedAt(t *testing.T) {
	h := New(Config{Manager: newGateway(t, session.Config{}).m})
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	before := session.Boottime()
	at := connectionOf(h.connContext(t.Context(), ours)).accepted
	if after := session.Boottime(); at < before || at > after {
		t.Errorf("accepted at %v, want from %v to %v", at, before, after)
	}
}

// Who sends a request is found out once, and the endpoint is told what was found then.
func TestIdentify(t *testing.T) {
	g := newGateway(t, session.Config{})
	tokens, err := access.ParseTokens([]byte("robot a-token-of-the-robot"))
	if err != nil {
		t.Fatal(err)
	}
	control, err := access.New(access.Config{Tokens: tokens, AdminToken: "the-token-of-admins"})
	if err != nil {
		t.Fatal(err)
	}
	h := New(Config{Manager: g.m, Access: control})
	token := g.open()
	for _, tt := range []struct {
		what, header string
		caller       string
		named        bool
		code         session.Code // of session(); "": there is one
	}{
		{"nothing", "", "somebody unknown", false, session.CodeNoSession},
		{"no Bearer", "Basic abc", "somebody unknown", true, session.CodeNoSession},
		{"no token", "Bearer ", "somebody unknown", true, session.CodeNoSession},
		{"an access token", "Bearer a-token-of-the-robot", `token "robot"`, false, session.CodeNoSession},
		{"the admin token", "bearer the-token-of-admins", "somebody unknown, with the admin token", true, session.CodeNoSession},
		{"the token of no session", "Bearer x", "somebody unknown", true, session.CodeNoSession},
		{"the token of a session", "Bearer " + token, "somebody unknown", true, ""},
	} {
		r := &http.Request{Header: http.Header{}}
		if tt.header != "" {
			r.Header.Set("Authorization", tt.header)
		}
		who := h.identify(r)
		s, err := who.session()
		if who.caller.String() != tt.caller || who.named() != tt.named || (err == nil) != (tt.code == "") || err != nil && session.CodeOf(err) != tt.code || (s != nil) != (tt.code == "") {
			t.Errorf("%s: %s, named %v, session %v, %v; want %s, %v, %q", tt.what, who.caller, who.named(), s != nil, err, tt.caller, tt.named, tt.code)
		}
	}
}
