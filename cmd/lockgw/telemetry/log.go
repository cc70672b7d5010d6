package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// LogHandler is h that tells trace and span of what is logged with a context that has
// them, and, where OTEL_LOGS_EXPORTER asks for that, exports what h logs.
func (t *Telemetry) LogHandler(h slog.Handler) slog.Handler {
	traced := &spanHandler{h}
	if t.logs == nil {
		return traced
	}
	return slog.NewMultiHandler(traced, &leveled{t.logs, h})
}

// spanHandler adds trace_id and span_id.
type spanHandler struct{ slog.Handler }

func (h *spanHandler) Handle(ctx context.Context, r slog.Record) error {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()), slog.String("span_id", sc.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h *spanHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &spanHandler{h.Handler.WithAttrs(attrs)}
}
func (h *spanHandler) WithGroup(name string) slog.Handler {
	return &spanHandler{h.Handler.WithGroup(name)}
}

// leveled is a handler for what another one would log.
type leveled struct {
	slog.Handler
	as slog.Handler
}

func (h *leveled) Enabled(ctx context.Context, l slog.Level) bool {
	return h.as.Enabled(ctx, l) && h.Handler.Enabled(ctx, l)
}

func (h *leveled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &leveled{h.Handler.WithAttrs(attrs), h.as}
}
func (h *leveled) WithGroup(name string) slog.Handler {
	return &leveled{h.Handler.WithGroup(name), h.as}
}
