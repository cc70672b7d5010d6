package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/lockgw/lockgw/session"
)

const (
	requestIDHeader = "Lockgw-Request-Id"
	internalDetail  = "a defect of the gateway; its log says more under this request_id"
)

// problem is the body of every error answer (RFC 9457).
type problem struct {
	Type         string       `json:"type"`
	Title        string       `json:"title"`
	Status       int          `json:"status"`
	Code         session.Code `json:"code"`
	Detail       string       `json:"detail"`
	Lock         string       `json:"lock,omitempty"`
	Holder       *holder      `json:"holder,omitempty"`
	Position     int          `json:"position,omitempty"`
	RetryAfterMS int64        `json:"retry_after_ms,omitempty"`
	Held         *bool        `json:"held,omitempty"`         // false with outcome_unknown
	RemainingMS  *int64       `json:"remaining_ms,omitempty"` // of the lease that could not be renewed
	Checks       []check      `json:"checks,omitempty"`       // of /readyz
	RequestID    string       `json:"request_id"`

	cause error // what to log, of an internal error
}

// Error makes a problem an error, so that an endpoint can return it.
func (p *problem) Error() string { return string(p.Code) + ": " + p.Detail }

// Unwrap is the cause, which the client is not told.
func (p *problem) Unwrap() error { return p.cause }

func newProblem(code session.Code, detail string) *problem {
	k, ok := codes[code]
	if !ok {
		code, k = session.CodeInternal, codes[session.CodeInternal]
	}
	return &problem{
		Type: "https://lockgw.dev/errors/" + string(code), Title: k.title, Status: k.status,
		Code: code, Detail: detail, RetryAfterMS: k.retry.Milliseconds(),
	}
}

// problemOf is what the client is told of err.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	p := newProblem(session.CodeOf(err), err.Error())
	if after := session.RetryAfterOf(err); after > 0 {
		p.RetryAfterMS = ceil(after, time.Millisecond)
	}
	if e, ok := errors.AsType[*session.Error](err); ok {
		p.describe(e)
	}
	if p.Code == session.CodeInternal {
		p.Detail, p.cause = internalDetail, err
	}
	return p
}

func (p *problem) describe(e *session.Error) {
	p.Detail, p.Lock, p.Holder, p.Position = e.Detail, e.Lock, holderOf(e.Holder), e.Position
	if e.Code == session.CodeOutcomeUnknown {
		p.Held = new(bool)
	}
	if e.Left > 0 {
		left := e.Left.Milliseconds()
		p.RemainingMS = &left
	}
}

// refuse answers with err. If the client has hung up, refuse aborts the connection: to
// return without an answer would send an empty 200, and the client may still read.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, r.Context().Err()) || errors.Is(err, errHungUp) {
		panic(http.ErrAbortHandler)
	}
	p := problemOf(err)
	h.logDefect(r.Context(), w, p)
	writeProblem(w, p)
}

// logDefect logs what the client is not told.
func (h *Handler) logDefect(ctx context.Context, w http.ResponseWriter, p *problem) {
	if p.cause != nil {
		h.Log.ErrorContext(ctx, "request failed", "name", p.Lock, "request_id", requestID(w), "err", p.cause)
	}
}

func writeProblem(w http.ResponseWriter, p *problem) {
	p.RequestID = requestID(w)
	if p.RetryAfterMS > 0 {
		w.Header().Set("Retry-After", retryAfter(p))
	}
	if p.Status != http.StatusLocked {
		w.Header().Del(preferenceApplied) // a wait was refused, not followed
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="lockgw"`)
	}
	write(w, p.Status, "application/problem+json", encode(p))
}

// retryAfter is the header of that name.
func retryAfter(p *problem) string {
	return strconv.FormatInt(ceil(time.Duration(p.RetryAfterMS)*time.Millisecond, time.Second), 10)
}

func requestID(w http.ResponseWriter) string { return w.Header().Get(requestIDHeader) }

// ceil is d in whole units, never too short.
func ceil(d, unit time.Duration) int64 { return int64((d + unit - 1) / unit) }
