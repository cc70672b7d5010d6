package api

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
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
	s := &stream{w: c.Writer, format: sse}
	if c.NegotiateFormat(sse, ndjson) == ndjson {
		s.format = ndjson
	}
	return s
}

// send sends an event. data is an object; id, if not 0, is what a client that
// comes back tells in Last-Event-ID.
func (s *stream) send(id uint64, event session.EventType, data any) {
	b := encode(data)
	var out bytes.Buffer
	switch {
	case s.format == ndjson:
		fmt.Fprintf(&out, `{"event":%q,%s`, event, b[1:])
	case id != 0:
		fmt.Fprintf(&out, "id: %d\n", id)
		fallthrough
	default:
		fmt.Fprintf(&out, "event: %s\ndata: %s\n", event, b)
	}
	s.write(out.Bytes())
}

// comment sends what means nothing but that the stream is alive. It keeps proxies
// from closing a silent one, and finds out about a client that is gone without
// having said so.
func (s *stream) comment() {
	if s.format == ndjson {
		s.write([]byte(`{"event":"keepalive"}` + "\n"))
		return
	}
	s.write([]byte(": keepalive\n\n"))
}

func (s *stream) write(b []byte) {
	if !s.started {
		s.started = true
		s.w.Header().Set("Content-Type", s.format)
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
}

func eventOf(e session.Event) eventData {
	return eventData{
		Time: e.Time.UTC(), Lock: e.Lock, Owner: e.Owner, Thread: e.Thread, Fence: e.Fence, Reason: e.Reason,
	}
}
