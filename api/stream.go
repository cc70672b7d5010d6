package api

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/events"
)

const (
	sse    = "text/event-stream"
	ndjson = "application/x-ndjson"
)

// stream sends events to a client, each at once. A write that fails cancels the
// request's context, and that is where the endpoint learns of it.
type stream struct {
	w       gin.ResponseWriter
	format  string
	started bool
}

func newStream(c *gin.Context) *stream {
	return &stream{w: c.Writer, format: wanted(c.Request, sse, ndjson)}
}

// send sends an event. data is an object; id, if it is one, is what a client that
// comes back tells in Last-Event-ID.
func (s *stream) send(id events.ID, event session.EventType, data any) {
	b := encode(data)
	var out bytes.Buffer
	known := id != events.ID{}
	switch {
	case s.format == ndjson && known:
		fmt.Fprintf(&out, `{"event":%q,"id":%q,%s`, event, id, b[1:])
	case s.format == ndjson:
		fmt.Fprintf(&out, `{"event":%q,%s`, event, b[1:])
	case known:
		fmt.Fprintf(&out, "id: %s\n", id)
		fallthrough
	default:
		fmt.Fprintf(&out, "event: %s\ndata: %s\n", event, b)
	}
	s.write(out.Bytes())
}

// Comments are told as such in SSE, and in NDJSON as events without data.
const (
	// keepalive shows that the stream is alive. It keeps proxies from closing a silent
	// stream, and finds out whether the client has gone without closing it.
	keepalive = "keepalive"
	// incomplete: what follows may not be all that has happened since the event
	// that the client has seen last.
	incomplete = "incomplete"
)

func (s *stream) comment(text string) {
	if s.format == ndjson {
		s.write([]byte(`{"event":"` + text + `"}` + "\n"))
		return
	}
	s.write([]byte(": " + text + "\n\n"))
}

func (s *stream) write(b []byte) {
	if !s.started {
		s.started = true
		s.w.Header().Set("Content-Type", s.format)
		s.w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back, and who holds the lock would wait on
		s.w.WriteHeader(http.StatusOK)
	}
	deadline(s.w)
	_, _ = s.w.Write(b)
	s.w.Flush()
}

// eventData is an event of a hold or a session.
type eventData struct {
	Time   time.Time     `json:"time"`
	Lock   string        `json:"lock,omitempty"`
	Owner  backend.Owner `json:"owner,omitempty"`
	Thread int64         `json:"thread,omitempty"`
	Fence  backend.Fence `json:"fence,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Holder *holder       `json:"holder,omitempty"`
}

func eventOf(e session.Event) eventData {
	return eventData{
		Time: e.Time.UTC(), Lock: e.Lock, Owner: e.Owner, Thread: e.Thread, Fence: e.Fence, Reason: e.Reason, Holder: holderAt(e.Holder, e.Time),
	}
}
