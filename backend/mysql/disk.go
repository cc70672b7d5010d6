package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/sqltable"
)

const (
	fullWords = "the disk of the server is full: make room there; until then nothing new is granted, and what is held may be lost when its lease is over"
	// fullAgain is how often a gateway looks whether there is room again.
	fullAgain = time.Second
	// fullMost is how long the server may take to say that.
	fullMost = 4 * time.Second
)

// waitWords are those of a server that does not say so itself.
const waitWords = "the server lets commits wait, as it does while its disk is full: make room there; until then nothing new is granted, and what is held may be lost when its lease is over"

// errFull is the error of what is not sent because it would wait, too.
var errFull = fmt.Errorf("%w: %s", backend.ErrRefused, waitWords)

// disk is what is known of that of the server. Where that is full, some writes fail. But a
// server that cannot write its binary log waits, and tries again once a minute; all commits wait
// behind it, each on a connection of its own, long after its client has given up. So a gateway
// whose request has no answer has a look, and sends nothing more that can wait.
type disk struct {
	full atomic.Bool
	asks chan struct{} // a request had no answer
}

// waitForRoom are the states, in small letters, of threads that wait for room: of MariaDB, and of
// MySQL, which has one for all commits. So it has to last.
var (
	waitForRoom = "waiting for someone to free space"
	commits     = []string{"commit", "waiting for handler commit"}
)

// commitMost is how long a commit may take, in seconds, before it counts as one that waits.
const commitMost = 2

// waits: the thread of which row tells, of SHOW PROCESSLIST, waits for room.
func waits(row [][]byte) bool {
	const seconds, state = 5, 6 // the columns
	if len(row) <= state {
		return false
	}
	is, since := strings.ToLower(string(row[state])), sqltable.NewReader(row[seconds:])
	return is == waitForRoom || slices.Contains(commits, is) && since.Number() >= commitMost
}

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
				t.Log.Warn("new locks are refused: " + waitWords)
			} else if was && !full {
				t.Log.Info("the server lets commits wait no more")
			}
			if !full || !backend.Wait(ctx, fullAgain) {
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
	return slices.ContainsFunc(got[0], waits)
}

// room is why nothing may be sent that can wait; nil: it may.
func (t *Table) room() error {
	if t.disk.full.Load() {
		return errFull
	}
	return nil
}
