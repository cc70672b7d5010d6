package telemetry

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// hearComplaints has log told what exporters complain of, and what of OTEL_* they do not
// understand. These are the globals of OpenTelemetry that cannot be passed.
func hearComplaints(log *slog.Logger) {
	otel.SetErrorHandler(&complaints{log: log})
	otel.SetLogger(logr.New(&misread{log: log, said: map[string]bool{}}))
}

// complaints logs what exporters complain of, but not every few seconds.
type complaints struct {
	log  *slog.Logger
	mu   sync.Mutex // guards the field below
	last time.Time
}

// Handle implements otel.ErrorHandler.
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.last) < time.Minute {
		return
	}
	c.last = time.Now()
	c.log.Warn("telemetry was not delivered; locks are not affected", "err", withoutValue(err.Error()))
}

// withoutValue drops the value of a variable, in which there may be a password or a token, and
// what is said of its parts.
func withoutValue(text string) string {
	if name, _, ok := strings.Cut(text, " value "); ok && strings.HasPrefix(name, "invalid OTEL_") {
		return name
	}
	return text
}

// misread logs what OpenTelemetry would write to stderr by itself, with all that the variables
// say: each thing once, without a value of which it does not know what it means.
type misread struct {
	log  *slog.Logger
	mu   sync.Mutex // guards the field below
	said map[string]bool
}

var _ logr.LogSink = (*misread)(nil)

// Error implements logr.LogSink.
func (m *misread) Error(err error, what string, about ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.said[what] {
		return
	}
	m.said[what] = true
	told := []any{"what", what}
	for i := 0; i+1 < len(about); i += 2 {
		switch about[i] {
		case "input", "value", "url", "key":
			err = nil // which repeats it
		default:
			told = append(told, about[i], about[i+1])
		}
	}
	if err != nil {
		told = append(told, "err", err)
	}
	m.log.Warn("a variable OTEL_* is not understood; locks are not affected", told...)
}

// Enabled implements logr.LogSink: errors alone are told.
func (*misread) Enabled(int) bool { return false }

// Info implements logr.LogSink.
func (*misread) Info(int, string, ...any) {}

// Init implements logr.LogSink.
func (*misread) Init(logr.RuntimeInfo) {}

// WithValues implements logr.LogSink.
func (m *misread) WithValues(...any) logr.LogSink { return m }

// WithName implements logr.LogSink.
func (m *misread) WithName(string) logr.LogSink { return m }
