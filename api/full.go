package api

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/lockgw/lockgw/session"
)

// Full refuses c, of which nothing was read yet, because the gateway has no descriptor
// to spare for it, and closes it.
func Full(c net.Conn) {
	p := newProblem(session.CodeTooManySessions, "the gateway has no file descriptor left for one more connection; "+
		"close some, or raise its limit (ulimit -n, LimitNOFILE=)")
	p.RequestID = rand.Text()
	body := encode(p)
	answer := http.Response{
		StatusCode: p.Status, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header: http.Header{"Content-Type": {"application/problem+json"}, "Retry-After": {"1"}, requestIDHeader: {p.RequestID}},
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	_ = c.SetWriteDeadline(time.Now().Add(time.Second)) // an answer fits into the buffer of a new connection
	_ = answer.Write(c)                                 // nobody to be told
	_ = c.Close()
}
