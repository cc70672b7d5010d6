package socket

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/session/events"
	"github.com/lockgw/lockgw/socket/resp"
)

// eventBuffer is how far a subscriber may fall behind before it is closed.
const eventBuffer = 1024

// subscriptions are what a connection listens to.
type subscriptions struct {
	events *session.Subscription

	mu       sync.Mutex          // guards the fields below; taken before output.mu
	channels map[string]struct{} // with channelPrefix
	prefixes map[string]struct{} // likewise, of the patterns, without the * at the end
	lengths  map[int]int         // how many prefixes there are of a length
	w        resp.Writer         // the message under construction
	by       access.Caller       // who listens
	ended    bool                // by the client
}

// message is what subscribers are sent, as JSON.
type message struct {
	ID     events.ID         `json:"id"`
	Event  session.EventType `json:"event"`
	Time   time.Time         `json:"time"`
	Lock   string            `json:"lock"`
	Owner  backend.Owner     `json:"owner"`
	Thread int64             `json:"thread"`
	Fence  backend.Fence     `json:"fence,omitempty"`
	Reason string            `json:"reason,omitempty"`
	Holder *eventHolder      `json:"holder,omitempty"`
}

// eventHolder is who holds, held or waits.
type eventHolder struct {
	session.Holder       // its AskedBy is always of a known user
	UID            *int  `json:"uid,omitempty"` // in place of the holder's; nil: not known
	HeldMS         int64 `json:"held_ms"`       // since then; of a waiter: how long it has waited
}

// eventHolderAt is h as it was then.
func eventHolderAt(h *session.Holder, then time.Time) *eventHolder {
	if h == nil {
		return nil
	}
	e := &eventHolder{Holder: *h, HeldMS: age(h.Since, then).Milliseconds()}
	e.Since = h.Since.UTC()
	if h.UID >= 0 {
		e.UID = &h.UID
	}
	return e
}

// listen begins to deliver messages.
func (c *conn) listen() {
	s := &subscriptions{channels: map[string]struct{}{}, prefixes: map[string]struct{}{}, lengths: map[int]int{}}
	s.adapt(c)
	control := c.srv.cfg.Access
	s.events = c.srv.cfg.Manager.Subscribe(eventBuffer, func(e session.Event) bool {
		return e.Lock != "" && s.each(e, nil) > 0 && control.Sees(s.caller(), access.Inspect, e.Lock)
	})
	c.subs = s
	c.srv.running.Go(func() { c.deliver(s) })
}

// unsubscribeAll ends the delivery.
func (c *conn) unsubscribeAll() {
	if c.subs == nil {
		return
	}
	_ = c.srv.listens(c.peer.UID, -c.subs.count())
	c.subs.mu.Lock()
	c.subs.ended = true
	clear(c.subs.channels) // events that wait to be delivered would follow the answer
	clear(c.subs.prefixes)
	clear(c.subs.lengths)
	c.subs.mu.Unlock()
	c.subs.events.Close()
	c.subs = nil
}

func (c *conn) deliver(s *subscriptions) {
	for e := range s.events.C {
		if s.add(c.out, *e) || len(s.events.C) == 0 {
			c.out.flush()
		}
	}
	c.out.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		c.nc.Close() // events were dropped: the client has to know that it missed some
	}
}

// add adds the messages that e causes. It holds the mutex meanwhile, so that none
// follows the confirmation of an unsubscribe. It reports whether they should be
// written.
func (s *subscriptions) add(out *output, e session.Event) (full bool) {
	payload, err := json.Marshal(message{e.ID, e.Type, e.Time.UTC(), e.Lock, e.Owner, e.Thread, e.Fence, e.Reason, eventHolderAt(e.Holder, e.Time)})
	if err != nil {
		return false // cannot be: every field has a JSON form
	}
	s.each(e, func(channel, pattern string) {
		s.w.Reset()
		if pattern == "" {
			s.w.Push(3)
			s.w.Bulk("message")
		} else {
			s.w.Push(4)
			s.w.Bulk("pmessage")
			s.w.Bulk(pattern)
		}
		s.w.Bulk(channel)
		s.w.Bulk(string(payload))
		full = out.add(s.w.Bytes()) || full
	})
	return full
}

// each calls f, if there is one, for each channel and pattern that e belongs to,
// and returns how many there are. All who do something with a lock of the node wait for this,
// so it does not look at every pattern.
func (s *subscriptions) each(e session.Event, f func(channel, pattern string)) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	channel := channelPrefix + e.Lock
	if _, ok := s.channels[channel]; ok {
		n++
		if f != nil {
			f(channel, "")
		}
	}
	for length := range s.lengths {
		if length > len(channel) {
			continue
		}
		if _, ok := s.prefixes[channel[:length]]; ok {
			n++
			if f != nil {
				f(channel, channel[:length]+"*")
			}
		}
	}
	return n
}

// list are the channels, or the patterns. There are none without subscriptions.
func (s *subscriptions) list(pattern bool) (all []string) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !pattern {
		return slices.Collect(maps.Keys(s.channels))
	}
	for prefix := range s.prefixes {
		all = append(all, prefix+"*")
	}
	return all
}

func (s *subscriptions) count() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.channels) + len(s.prefixes)
}

// set adds a channel or removes it, and calls confirm with the number there is
// then: before any message of a new one is added, and after all of an old one.
func (s *subscriptions) set(channel string, pattern, on bool, confirm func(n int)) {
	if s == nil {
		confirm(0)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch prefix, ok := strings.CutSuffix(channel, "*"); {
	case pattern && ok:
		s.setPrefix(prefix, on)
	case pattern: // nobody listens to that
	case on:
		s.channels[channel] = struct{}{}
	default:
		delete(s.channels, channel)
	}
	confirm(len(s.channels) + len(s.prefixes))
}

func (s *subscriptions) setPrefix(prefix string, on bool) {
	switch _, there := s.prefixes[prefix]; {
	case there == on:
	case on:
		s.prefixes[prefix] = struct{}{}
		s.lengths[len(prefix)]++
	default:
		delete(s.prefixes, prefix)
		if s.lengths[len(prefix)]--; s.lengths[len(prefix)] == 0 {
			delete(s.lengths, len(prefix))
		}
	}
}

func (s *subscriptions) caller() access.Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by
}

// adapt has messages written in the version of the protocol that c speaks now, and those alone
// that its caller may hear.
func (s *subscriptions) adapt(c *conn) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w.RESP3, s.by = c.w.RESP3, c.by
}

// listens counts n subscriptions more of the user, or fewer. It refuses those that are more
// than one user may have.
func (s *Server) listens(uid, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if most := s.cfg.Limits.ChannelsPerUID; n > 0 && s.channels[uid]+n > most {
		return replyError{"BUSY", fmt.Sprintf("uid %d has %d subscriptions, and one user may have %d at most", uid, s.channels[uid], most)}
	}
	if s.channels[uid] += n; s.channels[uid] == 0 {
		delete(s.channels, uid)
	}
	return nil
}
