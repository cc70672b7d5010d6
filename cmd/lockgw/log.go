package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// newLog makes the log of a gateway on w. Messages below level are dropped, also
// when level changes later.
func newLog(w io.Writer, c logConfig, level *slog.LevelVar) *slog.Logger {
	if c.Format == "text" || (c.Format == "auto" && isTerminal(w)) {
		return slog.New(tint.NewTextHandler(w, &tint.Options{
			Level: level, TimeFormat: time.TimeOnly, NoColor: os.Getenv("NO_COLOR") != "" || !isTerminal(w),
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

// level is what log.level says.
func (c logConfig) level() slog.Level {
	var l slog.Level
	if err := l.UnmarshalText([]byte(c.Level)); err != nil {
		panic(fmt.Sprintf("log.level %q: %v", c.Level, err)) // the loader lets only levels pass
	}
	return l
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
