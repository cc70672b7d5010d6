package api

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/lockgw/lockgw/session"
)

// takeBody reads the whole body, for two reasons: net/http notices that a client
// hangs up only after that, and a refused request must not wait for the rest.
func (h *Handler) takeBody(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return bodyTooLarge()
	case err != nil:
		return session.Invalid("body", "did not arrive whole within %v: %v", h.bodyTimeout, err)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	return checkMediaType(r)
}

func checkMediaType(r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return refusal(codeMediaType, "Content-Encoding: send the body as it is, not as %s", quote(enc))
	}
	sent := r.Header.Get("Content-Type")
	mt, opts, err := mime.ParseMediaType(sent)
	charset := strings.ToLower(opts["charset"])
	if err != nil || mt != "application/json" || charset != "" && charset != "utf-8" {
		return refusal(codeMediaType, "Content-Type: a body must be application/json in UTF-8, not %s", quote(sent))
	}
	return nil
}

// limitReading sets how long the client may take to send the body. net/http takes
// the limit away when it has seen the end of the body, so a wait may be longer.
func (h *Handler) limitReading(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.bodyTimeout)) // not every ResponseWriter has one
}
