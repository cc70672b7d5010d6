package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/accept"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/peer"
)

// Listening is how connections are let in. The zero value is without TLS and log.
type Listening struct {
	Descriptors *peer.Descriptors
	TLS         *tls.Config // nil: none
	Log         *slog.Logger
}

// Listen has a server of NewServer accept the connections of ln. Each is counted on the
// account of its client; with TLS it is accepted when its handshake is done. When there is no
// file descriptor to spare, a client may ask for /livez alone, and other requests are
// refused. Listen closes ln.
func (l Listening) Listen(ln net.Listener) net.Listener {
	return accept.Config{Descriptors: l.Descriptors, TLS: l.TLS, Log: l.Log, Refuse: refuseConn, Restate: restate}.On(ln)
}

// checkConn looks at the connection of the request. It has the connection closed if no
// other request may follow on it.
func checkConn(w http.ResponseWriter, r *http.Request) error {
	c := connectionOf(r.Context()).shared
	if c == nil {
		return nil
	}
	twoLengths, crowded := c.Begin(), c.Crowded()
	if crowded != nil || len(r.TransferEncoding) > 0 {
		w.Header().Set("Connection", "close")
	}
	switch {
	case crowded != nil && r.URL.EscapedPath() != "/livez":
		return crowded
	case twoLengths:
		return session.Invalid("Content-Length", "was sent together with Transfer-Encoding, or not as one short line; a body has one length, so send one of them")
	case c.Coded() && !r.ProtoAtLeast(1, 1):
		return session.Invalid("Transfer-Encoding", "is not for HTTP/1.0; send the body with its Content-Length, or by HTTP/1.1")
	default:
		return nil
	}
}

// watch has the context of c's request end when its client hangs up, also where net/http does
// not see that. It is for requests that may take long.
func watch(c *gin.Context) {
	if shared := connectionOf(c.Request.Context()).shared; shared != nil {
		ctx, gone := context.WithCancel(c.Request.Context())
		shared.Watch(ctx, gone)
		c.Request = c.Request.WithContext(ctx)
	}
}

// refuseConn tells a client, without TLS, why its connection is closed before a request is
// read.
func refuseConn(c net.Conn, why error, head bool) {
	if errors.Is(why, accept.ErrPlain) {
		why = session.Invalid("request", "came without TLS, which is spoken here; begin the URL with https://")
	}
	_ = c.SetWriteDeadline(time.Now().Add(time.Second)) // an answer fits into the buffer of a new connection
	_, _ = c.Write(unrouted(problemOf(why), head))      // nobody to be told
}

// unrouted is the last answer on a connection, as it is sent, to a request that no handler
// gets; head: without its body, which the answer to a HEAD may not have.
func unrouted(p *problem, head bool) []byte {
	p.RequestID = rand.Text()
	body := encode(p)
	answer := http.Response{
		StatusCode: p.Status, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header: http.Header{
			"Content-Type": {"application/problem+json"}, requestIDHeader: {p.RequestID},
			"X-Content-Type-Options": {"nosniff"}, "Cache-Control": {"no-store"}, "Date": {time.Now().UTC().Format(http.TimeFormat)},
		},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	if head { // the length is left out, because another than a HEAD would wait for the body then
		answer.Request, answer.ContentLength = &http.Request{Method: http.MethodHead}, -1
	}
	if p.RetryAfterMS > 0 {
		answer.Header.Set("Retry-After", retryAfter(p))
	}
	var out bytes.Buffer
	_ = answer.Write(&out) // a buffer takes all
	return out.Bytes()
}

// restate says as a problem what net/http answers by itself, to what is no HTTP and so reaches
// no handler. nil: b is the beginning of an answer of a handler, or no beginning.
func restate(b []byte, head bool) []byte {
	if !bytes.HasPrefix(b, []byte("HTTP/1.")) {
		return nil
	}
	top, _, whole := bytes.Cut(b, []byte("\r\n\r\n"))
	if !whole || bytes.Contains(top, []byte(requestIDHeader)) {
		return nil
	}
	line, _, _ := strings.Cut(string(top), "\r\n")
	_, line, _ = strings.Cut(line, " ")
	number, text, _ := strings.Cut(line, " ")
	status, _ := strconv.Atoi(number) // 0 is none of those below
	if why := malformed(status, text); why != nil {
		return unrouted(problemOf(why), head)
	}
	return nil
}

// malformed is what is wrong with a request to which net/http answers so.
func malformed(status int, text string) error {
	switch status {
	case http.StatusBadRequest:
		_, why, said := strings.Cut(text, ": ")
		if !said {
			why = "the method, the path (where % is written %25), a header or a length is not as it has to be"
		}
		return session.Invalid("request", "is no HTTP/1.1: %s", why)
	case http.StatusExpectationFailed:
		return session.Invalid("Expect", "may only be 100-continue")
	case http.StatusHTTPVersionNotSupported:
		return session.Invalid("request", "is of a version of HTTP that is not spoken here; speak HTTP/1.1")
	case http.StatusRequestHeaderFieldsTooLarge:
		return headersTooLarge()
	case http.StatusNotImplemented:
		return refusal(session.CodeUnsupported, "Transfer-Encoding: only chunked is understood; send the body as it is, with its Content-Length")
	}
	return nil
}
