package mysql

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
)

const (
	fullWords = "the disk of the server is full: make room there; until then nothing new is granted, and what is held may be lost when its lease is over"
	// fullAgain is how often a gateway looks whether there is room again.
	fullAgain = time.Second
	// fullMost is how long the server may take to say that.
	fullMost = 4 * time.Second
)

// errFull is the error of what is not sent because the server has no room for it.
var errFull = fmt.Errorf("%w: %s", backend.ErrRefused, fullWords)

// disk is what is known of that of the server. Where that is full, some writes fail. But a
// server that cannot write its binary log waits, and tries again once a minute; all commits wait
// behind it, each on a connection of its own, long after its client has given up. So a gateway
// whose request has no answer has a look, and sends nothing more that can wait.
type disk struct {
	full atomic.Bool
	asks chan struct{} // a request had no answer
}

// waitForRoom are the states of threads that wait for room, in the words of MariaDB and MySQL.
var waitForRoom = []string{"Waiting for someone to free space", "Waiting for disk space"}

// watchDisk looks whether the disk is full when it is asked to, and then until it is not, or ctx
// is over.
func (t *Table) watchDisk(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.disk.asks:
		}
		for full := t.looksFull(ctx); ; full = t.looksFull(ctx) {
			if was := t.disk.full.Swap(full); full && !was {
				t.cfg.Log.Warn("new locks are refused: the server waits for room on its disk; it goes on within a minute after there is some")
			} else if was && !full {
				t.cfg.Log.Info("the server does not wait for room on its disk any more")
			}
			if !full || !wait(ctx, fullAgain) {
				break
			}
		}
	}
}

// looksFull: a thread of the same user waits for room. It is false where the server does not say.
func (t *Table) looksFull(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, fullMost)
	defer cancel()
	c, err := connectFirst(ctx, t.hosts.hosts) // the others may all be waiting
	if err != nil {
		return false
	}
	defer c.Close()
	got, err := c.query(ctx, "SHOW PROCESSLIST") // which needs no room itself, as a SELECT would
	if err != nil || len(got) != 1 {
		return false
	}
	const state = 6 // the column
	return slices.ContainsFunc(got[0], func(row []value) bool { return len(row) > state && slices.Contains(waitForRoom, row[state].text) })
}

// room is why nothing may be sent that can wait; nil: it may.
func (t *Table) room() error {
	if t.disk.full.Load() {
		return errFull
	}
	return nil
}
