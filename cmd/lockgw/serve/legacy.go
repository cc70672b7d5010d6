package serve

import (
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/session/history"
	"github.com/lockgw/lockgw/session/journal"
)

// legacy is what this process knows of the one before it.
type legacy struct {
	journal *journal.Journal
	state   journal.State
	history *history.History // nil: none is kept
}

func (l legacy) close() {
	if l.history != nil {
		l.history.Close()
	}
	l.journal.Close()
}

// remember takes the state directory for this process.
func remember(dir string, c config.History, log *slog.Logger) (legacy, error) {
	if err := prepareStateDir(dir); err != nil {
		return legacy{}, fmt.Errorf("state_dir: %w", err)
	}
	j, past, err := journal.Open(dir)
	if err != nil {
		return legacy{}, fmt.Errorf("state_dir: %w", err)
	}
	j.Report = func(err error) {
		if err != nil {
			log.Error("the journal cannot be written; until it can, locks do not outlive this process", "state_dir", dir, "err", err)
			return
		}
		log.Info("the journal is written again", "state_dir", dir)
	}
	if err := j.Err(); err != nil {
		j.Report(err)
	}
	if past.Rejected != "" {
		log.Warn("the journal is damaged or foreign, so it is not used; this gateway starts as a new node", "kept_as", past.Rejected)
	}
	if n := len(past.Places) + len(past.Sessions); n > 0 {
		held := 0
		for _, p := range past.Places {
			if p.Turn != nil {
				held++
			}
		}
		log.Info("taking up what an earlier process left", "sessions", len(past.Sessions), "locks", held, "names", len(past.Places))
	}
	return legacy{j, past, openHistory(dir, c, log)}, nil
}

// prepareStateDir makes the directory. It refuses one in which another user could put a
// journal, because the gateway would believe in the sessions of that journal.
func prepareStateDir(dir string) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if above := filepath.Dir(dir); above == cli.UserTempDir() { // anybody can make it, and then replace what is in it
		if err := prepareStateDir(above); err != nil {
			return err
		}
	}
	opened, _, err := openSafeDir(path, 0o700)
	if err != nil {
		return err
	}
	return opened.Close()
}

// openHistory returns nil if the history cannot be kept: locks do not need it.
func openHistory(dir string, c config.History, log *slog.Logger) *history.History {
	if c.Keep == 0 || c.MaxSize == 0 {
		return nil
	}
	h, err := history.Open(history.Config{Dir: filepath.Join(dir, "history"), Keep: c.Keep, MaxSize: int64(c.MaxSize), Log: log})
	if err != nil {
		log.Error("no history of locks is kept; locks themselves are not affected", "err", err)
		return nil
	}
	return h
}
