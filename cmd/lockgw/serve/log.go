package serve

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

// logPatience is how long the end of a gateway waits for who reads its log.
const logPatience = time.Second

// newLog makes the log of a gateway on w, which may be a terminal. Messages below level are
// dropped, also when level changes later.
func newLog(w io.Writer, terminal bool, c config.Log, level *slog.LevelVar) *slog.Logger {
	if c.Format == "text" || (c.Format == "auto" && terminal) {
		return slog.New(tint.NewTextHandler(w, &tint.Options{
			Level: level, TimeFormat: time.TimeOnly, NoColor: os.Getenv("NO_COLOR") != "" || !terminal || cli.IsDumb(),
		}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: readable}))
}

// readable writes durations as text does: in JSON they would be nanoseconds.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}
