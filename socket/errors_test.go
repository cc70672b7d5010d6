package socket

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
	goclient "github.com/lockgw/lockgw/socket/client"
	"github.com/lockgw/lockgw/socket/resp"
)

// The words that clients may rely on.
var contractWords = []string{
	"INVALID", "NOSESSION", "NOTHELD", "LOST", "CONFLICT", "BUSY", "UNSUPPORTED", "UNAVAILABLE", "DRAINING", "NOAUTH",
	"NOPROTO", "ERR",
}

func TestEveryCodeHasAWord(t *testing.T) {
	for _, code := range session.Codes() {
		if word := respCodes[code]; !slices.Contains(contractWords, word) {
			t.Errorf("code %s becomes %q, want one of %q", code, word, contractWords)
		}
	}
	if want := len(session.Codes()) + 1; len(respCodes) != want { // and that of package access
		t.Errorf("%d codes have a word, want the %d there are", len(respCodes), want)
	}
}

func TestErrorLine(t *testing.T) {
	for want, err := range map[string]error{
		"INVALID ttl: too long": session.Invalid("ttl", "too long"),
		`LOST lock "a b": gone`: &session.Error{Code: session.CodeLost, Lock: "a b", Detail: "gone"},
		"UNAVAILABLE no answer; the hold stands for 1.5s more; try again in 20ms": &session.Error{
			Code: session.CodeUnavailable, Detail: "no answer; the hold stands for 1.5s more", Left: 1500 * time.Millisecond, RetryAfter: 20 * time.Millisecond,
		},
		"UNAVAILABLE list locks: store unavailable": fmt.Errorf("list locks: %w", backend.ErrUnavailable),
		"UNAVAILABLE list locks: in quarantine; try again in 2.5s": fmt.Errorf("list locks: %w",
			&backend.Later{Err: backend.NotSent("in quarantine"), After: 2500 * time.Millisecond}),
		"UNSUPPORTED unsupported operation": errors.ErrUnsupported,
		"ERR something else":                errors.New("something else"),
		"ERR Protocol error: no":            fmt.Errorf("read: %w", resp.ProtocolError("no")),
		"NOPROTO what":                      fmt.Errorf("hello: %w", replyError{"NOPROTO", "what"}),
		"INVALID a  +OK [2J  end":           &session.Error{Code: session.CodeInvalid, Detail: "a\r\n+OK\x1b[2J\u009b\x7fend"},
	} {
		got := errorLine(err)
		if got = strings.TrimPrefix(got, "ERR read: "); got != want {
			t.Errorf("error line of %v = %q, want %q", err, got, want)
		}
	}
}

// The Go client knows every word that an error can begin with.
func TestClientKnowsWords(t *testing.T) {
	sentinels := []error{
		goclient.ErrInvalid, goclient.ErrNoSession, goclient.ErrNotHeld, goclient.ErrLost, goclient.ErrConflict, goclient.ErrBusy,
		goclient.ErrUnsupported, goclient.ErrUnavailable, goclient.ErrDraining, goclient.ErrForbidden,
	}
	for code, word := range respCodes {
		known := slices.ContainsFunc(sentinels, func(s error) bool { return errors.Is(&goclient.Error{Word: word}, s) })
		if known == (word == "ERR") { // a defect of the gateway, which nobody can do anything about
			t.Errorf("%s (%s) has a sentinel: %v", word, code, known)
		}
	}
}
