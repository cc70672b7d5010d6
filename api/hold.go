package api

import (
	"context"
	"errors"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/events"
)

// Events of a hold stream that the core does not know.
const eventError session.EventType = "error"

// hold is acquire for clients that stay connected: the lock lives as long as the connection,
// and the answer is a stream of events about it.
func (h *Handler) hold(c *gin.Context) error {
	cl, err := readClaim(c, h.Manager.Config().Limits.MaxWait)
	if err != nil {
		return err
	}
	watch(c)
	ctx := c.Request.Context()
	settled, settle := context.WithCancel(context.Background())
	defer settle()
	if err := h.begin(c, cl, connected(ctx, settled)); err != nil {
		return err
	}
	if !cl.own {
		if err := cl.sess.Attach(); err != nil {
			return err
		}
		defer cl.sess.Detach(goneReason)
	}
	cl.acquire.Key = "" // the hold ends with its connection, so a repeat needs no key
	var lease *session.Lease
	defer func() { cl.giveUp(ctx, lease, goneReason) }()
	sub := h.Manager.Follow(cl.sess.ID(), 16, cl.concerns)
	defer sub.Close()
	s := newStream(c)
	grant, err := h.await(ctx, s, cl)
	if err != nil {
		return h.streamError(ctx, s, cl, err)
	}
	v, err := tellHold(c, s, cl, grant.Lease)
	if err != nil {
		cl.sess.GiveBack(ctx, []session.Grant{grant})
		return h.streamError(ctx, s, cl, err)
	}
	lease = grant.Lease
	settle()
	h.follow(ctx, s, cl, v.Fence, sub.C)
	return nil
}

// tellHold tells the client that it holds. An error: it cannot be told.
func tellHold(c *gin.Context, s *stream, cl *claim, l *session.Lease) (v session.View, err error) {
	ctx := c.Request.Context()
	if err = present(ctx); err != nil {
		return v, err
	}
	if v, err = l.View(); err != nil {
		return v, err
	}
	s.send(events.ID{}, session.EventAcquired, lockOf(v, cl.token, identityOf(ctx)))
	if !sent(c.Writer) {
		return v, errHungUp
	}
	return v, nil
}

const goneReason = "the connection of the hold was closed"

// connected is the proof of life of a request. It stands until the request is settled: a
// session that ends leaves a name to its min_hold, and nobody may have been told of it.
func connected(request, settled context.Context) session.Liveness {
	return func(ctx context.Context) error {
		for _, over := range []context.Context{settled, request} {
			select {
			case <-over.Done():
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return errors.New(goneReason)
	}
}

// concerns tells whether an event of the session is about the hold of the claim, or is the
// end of the session.
func (cl *claim) concerns(e session.Event) bool {
	return e.Type == session.EventSessionEnded || e.Lock == cl.names[0] && e.Thread == cl.acquire.Thread
}

// queued tells a waiter where it stands.
type queued struct {
	Name     string  `json:"name"`
	Position int     `json:"position"` // 1 is next
	Holder   *holder `json:"holder,omitempty"`
}

// await acquires, and tells the client meanwhile that it waits. Acquire has a
// goroutine of its own, because the stream needs a sign of life now and then.
func (h *Handler) await(ctx context.Context, s *stream, cl *claim) (session.Grant, error) {
	waiting := make(chan queued, 1)
	cl.acquire.OnQueued = func(position int, who *session.Holder) {
		waiting <- queued{cl.names[0], position, holderOf(who)}
	}
	type result struct {
		grant session.Grant
		err   error
	}
	done := make(chan result, 1)
	go func() {
		g, err := cl.sess.Acquire(ctx, cl.names[0], cl.acquire)
		done <- result{g, err}
	}()
	tick := time.NewTicker(h.commentEvery)
	defer tick.Stop()
	for {
		select {
		case q := <-waiting:
			s.send(events.ID{}, session.EventQueued, q)
		case <-tick.C:
			if s.started {
				s.comment(keepalive)
			}
		case r := <-done:
			return r.grant, r.err
		}
	}
}

// follow sends the events of the hold with that fence, until it is over or the client is
// gone.
func (h *Handler) follow(ctx context.Context, s *stream, cl *claim, fence backend.Fence, told <-chan *session.Event) {
	tick := time.NewTicker(h.commentEvery)
	defer tick.Stop()
	ended := cl.sess.Done()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			if ended = nil; keptForNext(cl.sess) {
				_ = h.streamError(ctx, s, cl, cl.sess.Err())
				return
			}
		case <-tick.C:
			s.comment(keepalive)
		case e, ok := <-told:
			switch {
			case !ok:
				return // it reads too slowly to be told in time
			case e.Type == session.EventSessionEnded:
				_ = h.streamError(ctx, s, cl, cl.sess.Err())
				return
			case e.Fence != fence:
				// of an earlier hold of the same owner
			case e.Type == session.EventJeopardy:
				s.send(events.ID{}, e.Type, eventOf(*e))
			case e.Type == session.EventLost, e.Type == session.EventReleased:
				s.send(events.ID{}, e.Type, eventOf(*e))
				return
			}
		}
	}
}

// streamError answers with a problem while nothing was sent yet, and ends the
// stream with one after that.
func (h *Handler) streamError(ctx context.Context, s *stream, cl *claim, err error) error {
	switch {
	case !s.started:
		return err
	case ctx.Err() != nil, errors.Is(err, errHungUp):
		return nil // nobody is left to be told
	}
	p := problemOf(err)
	p.Lock, p.RequestID = cl.names[0], requestID(s.w)
	h.logDefect(ctx, s.w, p)
	s.send(events.ID{}, eventError, p)
	return nil
}
