package redis

import (
	"context"
	"fmt"
	"log/slog"
)

// clientLog is where go-redis' own lines go. What they say is told again by the
// error of a request, so they are for debugging.
type clientLog struct{ log *slog.Logger }

// Printf implements go-redis' logging interface.
func (l clientLog) Printf(ctx context.Context, format string, args ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, "redis client", "text", fmt.Sprintf(format, args...))
	}
}
