package api

import (
	"bytes"
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/lockgw/lockgw/session"
)

// Limits of a request. The router sees none that is beyond them.
const (
	maxBody    = 64 << 10
	maxHeaders = 16 << 10
	maxURL     = 2 << 10
)

// NewServer makes a server for any number of listeners, over TCP, TLS or Unix
// sockets. It has no WriteTimeout, because waits and streams are long: each
// answer has a deadline of its own.
func NewServer(h *Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeaders,
		ConnContext:       h.connContext,
		ErrorLog:          slog.NewLogLogger(h.Log.Handler(), slog.LevelWarn),
		// otherwise OPTIONS * is a 200
		DisableGeneralOptionsHandler: true,
	}
}

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
