package params

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

type inner struct {
	Wait   Duration `param:"wait"`
	Thread Thread   `param:"thread"`
}

type sent struct {
	inner
	Names Names `param:"names"`
	other Note  // has no tag, so it is no parameter
}

func request(query, body string) *http.Request {
	return httptest.NewRequest("PUT", "/?"+query, strings.NewReader(body))
}

// What is not sent stays as it was; what is sent may be in the query or in the body,
// and in a struct within the struct.
func TestQueryOrBody(t *testing.T) {
	p := sent{inner: inner{Thread: 1}, other: "as it was"}
	got, err := QueryOrBody(request("wait=1m", `{"names":["a","b"]}`), &p)
	if err != nil || time.Duration(p.Wait) != time.Minute || p.Thread != 1 || len(p.Names) != 2 || p.other != "as it was" {
		t.Errorf("read %+v, %v; want a wait of 1m, thread 1 and two names", p, err)
	}
	if !got.Has("wait") || !got.Has("names") || got.Has("thread") {
		t.Errorf("sent %v, want wait and names", got)
	}
}

// An integer is one however JSON writes it, and is read in full.
func TestIntegers(t *testing.T) {
	for _, body := range []string{`{"thread":7}`, `{"thread":7.0}`, `{"thread":7e0}`, `{"thread":0.7e1}`, `{"thread":70E-1,"wait":1.0}`, `{"thread":7,"wait":1e0}`} {
		p := sent{inner: inner{Wait: Duration(time.Second)}}
		if _, err := QueryOrBody(request("", body), &p); err != nil || p.Thread != 7 || time.Duration(p.Wait) != time.Second {
			t.Errorf("%s: read %+v, %v; want thread 7 and a wait of 1s", body, p, err)
		}
	}
	for _, tt := range []struct{ query, body string }{
		{"", `{"thread":7.5}`}, {"", `{"thread":7e-1}`}, {"", `{"thread":0.0}`}, {"", `{"thread":-7.0}`}, {"", `{"thread":1e19}`},
		{"", `{"thread":1e400}`}, {"thread=7.0", ""}, {"thread=7e0", ""},
	} {
		_, err := QueryOrBody(request(tt.query, tt.body), &sent{})
		if session.CodeOf(err) != session.CodeInvalid || err.Error() != "invalid: thread: must be a decimal from 1 on" {
			t.Errorf("%s %s: %v, want the thread refused", tt.query, tt.body, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct{ query, body, want string }{
		{"wait=1&wait=2", "", "wait: is in the query more than once"},
		{"wait=1", `{"wait":2}`, "wait: is in the query and in the body"},
		{"tread=1", "", "tread: is not known here; known are names, thread, wait"},
		{"Other=1", "", "Other: is not known here; known are names, thread, wait"},
		{"thread=0", "", "thread: must be a decimal from 1 on"},
		{"", `{"names":"a"}`, "names: must be an array, not a string"},
		{"", `{"names":["a",1]}`, "names: number 2 must be a string, not a number"},
		{"names=a", "", "names: belongs in the JSON body, as an array of strings"},
	} {
		_, err := QueryOrBody(request(tt.query, tt.body), &sent{})
		if session.CodeOf(err) != session.CodeInvalid || err.Error() != "invalid: "+tt.want {
			t.Errorf("%s %s: %v, want invalid: %s", tt.query, tt.body, err, tt.want)
		}
	}
	if err := None(request("x=1", "")); err == nil || !strings.Contains(err.Error(), "x: is not known here; known are none") {
		t.Errorf("a parameter where there is none: %v", err)
	}
	if err := Query(request("", "{}"), &sent{}); err == nil || !strings.Contains(err.Error(), "body: this request takes none") {
		t.Errorf("a body where there is none: %v", err)
	}
	if err := Body(request("wait=1", "{}"), &sent{}); err == nil || !strings.Contains(err.Error(), "wait: belongs in the JSON body") {
		t.Errorf("a query where the parameters belong into the body: %v", err)
	}
}
