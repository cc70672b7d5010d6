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
