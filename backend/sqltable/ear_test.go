package sqltable

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Of sweeps that fail, as where the user lacks a right, the log tells once.
func TestSweepFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		e := newEar("SQL", slog.New(slog.NewTextHandler(&log, nil)))
		lacks := fmt.Errorf("%w: the user lacks a right", backend.ErrRefused)
		outcomes := []error{lacks, lacks, nil, lacks}
		swept := 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go e.beat(ctx, time.Second, 2, func(context.Context) error { return nil }, func(context.Context) error {
			swept++
			return outcomes[min(swept, len(outcomes))-1]
		})
		time.Sleep(time.Minute)
		cancel()
		synctest.Wait()
		if said := strings.Count(log.String(), "lacks a right"); swept < len(outcomes) || said != 2 {
			t.Errorf("of %d sweeps is said %d times why, want twice:\n%s", swept, said, log.String())
		}
	})
}

// Whoever reads in the log that messages do not arrive reads there that they do again, once; and how
// long it took can be asked.
func TestHeardAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		e := newEar("SQL", slog.New(slog.NewTextHandler(&log, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go e.run(ctx, func(ctx context.Context) (bool, error) {
			if e.Age() < 20*time.Second {
				return false, fmt.Errorf("%w: a test", backend.ErrUnreachable)
			}
			for backend.Wait(ctx, time.Second) {
				e.Heard()
			}
			return true, nil
		}, func() {})
		time.Sleep(15 * time.Second)
		if age := e.Age(); age != 15*time.Second {
			t.Errorf("the last was heard %v ago, want 15s", age)
		}
		time.Sleep(time.Minute)
		cancel()
		synctest.Wait()
		if wrong, well := strings.Count(log.String(), "do not arrive"), strings.Count(log.String(), "arrive again"); wrong != 1 || well != 1 {
			t.Errorf("%d times trouble, %d times its end, want each once:\n%s", wrong, well, log.String())
		}
		if age := e.Age(); age > time.Second {
			t.Errorf("the last was heard %v ago, want 1s at most", age)
		}
	})
}
