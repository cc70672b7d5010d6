package redlock

import (
	"context"
	"fmt"
	"log/slog"
)

// clientLog takes what go-redis would print. It says nothing that is not in an error
// too, but for those who look for the cause of one.
type clientLog struct{ log *slog.Logger }

// Printf is what go-redis calls.
func (l clientLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, "go-redis", "text", fmt.Sprintf(format, v...))
}
