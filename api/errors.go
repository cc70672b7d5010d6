package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// The codes of HTTP itself; the others are session's.
const (
	codeCrossOrigin      session.Code = "cross_origin"
	codeNotFound         session.Code = "not_found"
	codeMethodNotAllowed session.Code = "method_not_allowed"
	codeTooLarge         session.Code = "too_large"
	codeMediaType        session.Code = "unsupported_media_type"
	codeHostNotAllowed   session.Code = "host_not_allowed"
)

// httpStatus is the HTTP status of a code.
type httpStatus struct {
	status int
	title  string
	retry  time.Duration // when to ask again if the core does not say; 0: asking again does not help
}

// codes is the one place where a code becomes a status.
var codes = map[session.Code]httpStatus{
	session.CodeInvalid:         {http.StatusBadRequest, "Invalid request", 0},
	session.CodeNoSession:       {http.StatusUnauthorized, "No session", 0},
	session.CodeSessionEnded:    {http.StatusUnauthorized, "Session ended", 0},
	session.CodeNotOwner:        {http.StatusForbidden, "Not the holder", 0},
	access.CodeForbidden:        {http.StatusForbidden, "Not allowed", 0},
	codeCrossOrigin:             {http.StatusForbidden, "Sent by another site", 0},
	codeNotFound:                {http.StatusNotFound, "No such resource", 0},
	codeMethodNotAllowed:        {http.StatusMethodNotAllowed, "Method not allowed", 0},
	session.CodeConflict:        {http.StatusConflict, "Conflict", 0},
	session.CodeLost:            {http.StatusGone, "Hold lost", 0},
	session.CodeFenceMismatch:   {http.StatusPreconditionFailed, "Not the newest fence", 0},
	codeTooLarge:                {http.StatusRequestEntityTooLarge, "Request too large", 0},
	codeMediaType:               {http.StatusUnsupportedMediaType, "Unsupported media type", 0},
	codeHostNotAllowed:          {http.StatusMisdirectedRequest, "Host not allowed", 0},
	session.CodeLocked:          {http.StatusLocked, "Locked", time.Second},
	session.CodeWaitTimeout:     {http.StatusLocked, "Wait is over", time.Second},
	session.CodeTooManyWaiters:  {http.StatusTooManyRequests, "Too many waiters", time.Second},
	session.CodeTooManySessions: {http.StatusTooManyRequests, "Too many sessions", time.Second},
	session.CodeTooManyHolds:    {http.StatusTooManyRequests, "Limit reached", time.Second},
	session.CodeInternal:        {http.StatusInternalServerError, "Internal error", 0},
	session.CodeUnsupported:     {http.StatusNotImplemented, "Not supported", 0},
	session.CodeUnavailable:     {http.StatusServiceUnavailable, "Store unavailable", time.Second},
	session.CodeOutcomeUnknown:  {http.StatusServiceUnavailable, "Outcome unknown", time.Second},
	session.CodeDraining:        {http.StatusServiceUnavailable, "Gateway is going away", 5 * time.Second},
}

// refusal is an error of this package.
func refusal(code session.Code, format string, args ...any) *session.Error {
	return &session.Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// The part of the request that is too large decides the status.
func bodyTooLarge() error {
	return tooLarge(http.StatusRequestEntityTooLarge, "the body is longer than %d bytes", maxBody)
}

func urlTooLong() error {
	return tooLarge(http.StatusRequestURITooLong, "the URL is longer than %d bytes", maxURL)
}

func headersTooLarge() error {
	return tooLarge(http.StatusRequestHeaderFieldsTooLarge, "the headers are longer than %d bytes", maxHeaders)
}

func tooLarge(status int, format string, limit int) error {
	p := newProblem(codeTooLarge, fmt.Sprintf(format, limit))
	p.Status = status
	return p
}
