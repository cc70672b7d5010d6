package socket

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockgw/lockgw/session"
)

var (
	errApart   = errors.New("another goroutine reads")
	errParked  = errors.New("the command waits, and somebody has to go on reading")
	errLeft    = errors.New("the command waits, and another goroutine reads")
	errDeaf    = replyError{"BUSY", "the answers before this one were not read"}
	errTooMany = replyError{"BUSY", fmt.Sprintf("more than %d commands wait for an answer on this connection", maxQueue)}
)

// take executes a command, or queues it behind the one being executed.
func (c *conn) take(args []string) error {
	for {
		c.mu.Lock()
		apart, ending, full := c.apart, c.ending, len(c.queue) == maxQueue
		if apart && !ending && !full {
			c.queue = append(c.queue, args)
		}
		c.mu.Unlock()
		switch {
		case ending:
			return nil
		case !apart:
			return c.execute(args)
		case !full:
			return nil
		case !c.awaitRoom():
			return errTooMany
		}
	}
}

// awaitRoom waits until the queue is shorter, and gives up after twice the timeout of
// the store. A command that only asks the store is done by then. A client that sends
// more than the queue holds behind a wait for a lock makes a mistake. A hang-up is not
// noticed meanwhile.
func (c *conn) awaitRoom() bool {
	c.mu.Lock()
	room := make(chan struct{}, 1)
	c.room = room
	there := len(c.queue) < maxQueue
	c.mu.Unlock()
	if there {
		return true
	}
	select {
	case <-room:
		return true
	case <-time.After(2 * c.srv.cfg.Manager.Config().Timeout):
		return false
	}
}

// start and finish enclose a command that may take long. The timer is neither set nor stopped
// for each: it goes off now and then while there are commands, and looks (handOver).
func (c *conn) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working = true
	c.begun++
	switch {
	case c.apart || c.pending:
		return
	case c.patient == nil:
		c.patient = time.AfterFunc(patience, c.handOver)
	default:
		c.patient.Reset(patience)
	}
	c.pending, c.looked = true, c.begun
}

func (c *conn) finish() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working = false
	if c.apart {
		return errApart
	}
	return nil
}

// park leaves q, the command under way, to w: it is answered later and by another goroutine,
// which then goes on with what was read meanwhile. This one must not touch what belongs to
// the goroutine that executes after it. The error says what is left to do.
func (c *conn) park(s *session.Session, w *session.Waiter, q lockRequest) error {
	c.mu.Lock()
	if c.patient != nil { // it would be kept for as long as the wait lasts
		c.patient.Stop()
		c.patient, c.pending = nil, false
	}
	left := errParked
	if c.apart {
		left = errLeft
	}
	c.working, c.apart, c.waits = false, true, w
	c.mu.Unlock()
	c.srv.running.Add(1) // it is not 0: this goroutine counts
	w.Then(func(g session.Grant, err error) { c.resume(s, &q, g, err) })
	return left
}

// resume answers q, for which a command has waited, and goes on with what was read meanwhile.
// It does not block.
func (c *conn) resume(s *session.Session, q *lockRequest, g session.Grant, err error) {
	c.mu.Lock()
	c.waits = nil
	c.mu.Unlock()
	c.w.Reset()
	full := c.answer(c.guard("LOCK", func() error { return c.writeLock(s, q, g, err) }))
	goOn := func() { c.giveBack(s, q); c.catchUp() }
	if !full && q.untold.Lease == nil {
		args, over := c.dequeue()
		if args == nil && !over {
			c.out.flushSoon()
			c.srv.running.Done()
			return
		}
		goOn = func() { c.goOn(args, over) }
	}
	go func() {
		defer c.srv.running.Done()
		goOn()
	}()
}

// handOver goes on reading, if the command that was being executed at the last look still is.
func (c *conn) handOver() {
	c.mu.Lock()
	switch {
	case !c.working || c.apart:
		c.pending = false
		c.mu.Unlock()
		return
	case c.looked != c.begun: // another one, which has begun since
		c.looked = c.begun
		c.patient.Reset(patience)
		c.mu.Unlock()
		return
	}
	c.pending, c.apart = false, true
	c.srv.running.Add(1) // it is not 0: the goroutine that executes counts until finish
	c.mu.Unlock()
	defer c.srv.running.Done()
	c.serve()
}

// catchUp executes what was read while a command was executed or waited. When nothing is
// left, the goroutine that reads executes again.
func (c *conn) catchUp() { c.goOn(c.dequeue()) }

// goOn is catchUp from what dequeue has returned on. What was answered does not wait for a command
// that may take long: whoever reads has nothing to do, and does not flush.
func (c *conn) goOn(args []string, over bool) {
	for args != nil {
		if c.srv.lookup(args[0]).slow {
			c.out.flush()
		}
		if errors.Is(c.execute(args), errLeft) {
			c.out.flush()
			return
		}
		args, over = c.dequeue()
	}
	c.out.flush()
	if over {
		c.close()
	}
}

func (c *conn) dequeue() (args []string, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.room <- struct{}{}:
	default:
	}
	if len(c.queue) > 0 && !c.ending {
		args, c.queue = c.queue[0], c.queue[1:]
		return args, false
	}
	c.apart, c.queue = false, nil
	return nil, c.unread
}
