package socket

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/socket/resp"
)

// respCodes is the one place where a code becomes the first word of an error reply.
var respCodes = map[session.Code]string{
	session.CodeInvalid:         "INVALID",
	session.CodeNoSession:       "NOSESSION",
	session.CodeSessionEnded:    "NOSESSION",
	session.CodeLocked:          "BUSY", // of LOCK it is a null, no error
	session.CodeWaitTimeout:     "BUSY", // likewise
	session.CodeNotOwner:        "NOTHELD",
	session.CodeLost:            "LOST",
	session.CodeConflict:        "CONFLICT",
	session.CodeFenceMismatch:   "CONFLICT",
	session.CodeTooManyWaiters:  "BUSY",
	session.CodeTooManySessions: "BUSY",
	session.CodeTooManyHolds:    "BUSY",
	session.CodeUnsupported:     "UNSUPPORTED",
	session.CodeUnavailable:     "UNAVAILABLE",
	session.CodeOutcomeUnknown:  "UNAVAILABLE",
	session.CodeDraining:        "DRAINING",
	session.CodeInternal:        "ERR",
	access.CodeForbidden:        "NOAUTH",
}

// replyError is an error of this front.
type replyError struct{ word, text string }

func (e replyError) Error() string { return e.word + " " + e.text }

// errorLine is err as an error reply.
func errorLine(err error) string {
	if own, ok := errors.AsType[replyError](err); ok {
		return plain(own.Error())
	}
	if bad, ok := errors.AsType[resp.ProtocolError](err); ok {
		return plain("ERR " + bad.Error())
	}
	word := respCodes[session.CodeOf(err)]
	return plain(word + " " + sentence(err))
}

func sentence(err error) string {
	var b strings.Builder
	switch e, ok := errors.AsType[*session.Error](err); {
	case !ok:
		b.WriteString(err.Error())
	case e.Lock != "":
		fmt.Fprintf(&b, "lock %q: %s", e.Lock, e.Detail)
	default:
		b.WriteString(e.Detail)
	}
	if after := session.RetryAfterOf(err); after > 0 {
		fmt.Fprintf(&b, "; try again in %v", after.Round(time.Millisecond))
	}
	return b.String()
}

// plain keeps control characters, which somebody may have sent, from the
// protocol and from terminals.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}
