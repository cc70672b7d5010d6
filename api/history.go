package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/params"
	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/session/history"
)

// defaultSince is how far back a history goes that is asked for without a time.
const defaultSince = params.Positive(24 * time.Hour)

// person is who asked for a lock or held it, without times.
type person struct {
	Owner   backend.Owner `json:"owner"`
	Node    string        `json:"node,omitempty"`
	PID     int           `json:"pid,omitempty"`
	Command string        `json:"command,omitempty"`
	UID     *int          `json:"uid,omitempty"`
	AskedBy *asker        `json:"asked_by,omitempty"`
	Note    string        `json:"note,omitempty"`
}

// attempt is what one caller did with a lock, from its request to the end of its hold.
type attempt struct {
	person
	Mode       string          `json:"mode"`
	Asked      time.Time       `json:"asked,omitzero"`
	WaitedMS   int64           `json:"waited_ms"`
	Granted    time.Time       `json:"granted,omitzero"`
	HeldMS     int64           `json:"held_ms"`
	Ended      time.Time       `json:"ended,omitzero"`
	Outcome    history.Outcome `json:"outcome"`
	Reason     string          `json:"reason,omitempty"`
	Fence      uint64          `json:"fence,omitempty"`
	Ahead      int             `json:"ahead"`                 // callers of this node that stood before it
	Behind     []span          `json:"behind"`                // who held the lock while it waited
	BehindMore int             `json:"behind_more,omitempty"` // how many more, not listed
}

// span is who held a lock, and when as far as that is known.
type span struct {
	person
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// totals sums up many attempts.
type totals struct {
	Attempts int      `json:"attempts"`
	Refused  int      `json:"refused"`
	Lost     int      `json:"lost"`
	Waited   quantity `json:"waited"`
	Held     quantity `json:"held"`
}

// quantity sums up how long many things took.
type quantity struct {
	P50MS   int64 `json:"p50_ms"`
	P99MS   int64 `json:"p99_ms"`
	WorstMS int64 `json:"worst_ms"`
	TotalMS int64 `json:"total_ms"`
}

func personOf(h *session.Holder) person {
	p := holderOf(h)
	return person{p.Owner, p.Node, p.PID, p.Command, p.UID, p.AskedBy, p.Note}
}

func spanOf(s *history.Span) span { return span{personOf(&s.Who), inUTC(s.From), inUTC(s.Until)} }

func spansOf(all []history.Span) []span {
	out := make([]span, 0, len(all))
	for i := range all {
		out = append(out, spanOf(&all[i]))
	}
	return out
}

// inUTC keeps a time that is not known.
func inUTC(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}

func attemptOf(t *history.Told, now time.Time) attempt {
	return attempt{
		person: personOf(&t.Who), Mode: t.Mode, Asked: inUTC(t.Asked), WaitedMS: t.Waited(now).Milliseconds(),
		Granted: inUTC(t.Granted), HeldMS: t.Held(now).Milliseconds(), Ended: inUTC(t.Ended), Outcome: t.Outcome, Reason: t.Reason,
		Fence: t.Fence, Ahead: t.Ahead, Behind: spansOf(t.Meanwhile), BehindMore: t.Others,
	}
}

func totalsOf(t *history.Totals) totals {
	return totals{t.Attempts, t.Refused, t.Lost, quantityOf(&t.Waited), quantityOf(&t.Held)}
}

func quantityOf(d *history.Durations) quantity {
	return quantity{d.Percentile(0.5).Milliseconds(), d.Percentile(0.99).Milliseconds(), d.Worst().Milliseconds(), d.Sum().Milliseconds()}
}

// lookFrom is the time from which on to look: zero if everything that is kept is asked for.
func lookFrom(back params.Positive, all params.Boolean) time.Time {
	if all {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(back))
}

func (h *Handler) kept() (*history.History, error) {
	if h.History == nil {
		return nil, refusal(session.CodeUnsupported, "this gateway keeps no history: history.keep or history.max_size is 0")
	}
	return h.History, nil
}

// lockHistory tells why a job was late: how this node's callers came to one lock.
func (h *Handler) lockHistory(c *gin.Context) error {
	name, err := lockName(c)
	if err != nil {
		return err
	}
	p := struct {
		Since  params.Positive `param:"since"`
		All    params.Boolean  `param:"all"`
		Limit  params.PageSize `param:"limit"`
		Cursor params.Cursor   `param:"cursor"`
	}{Since: defaultSince, Limit: defaultPage}
	if err := params.Query(c.Request, &p); err != nil {
		return err
	}
	before, err := readCursor(p.Cursor)
	if err != nil {
		return err
	}
	if err := h.allow(identityOf(c.Request.Context()), access.Inspect, name); err != nil {
		return err
	}
	kept, err := h.kept()
	if err != nil {
		return err
	}
	since := lookFrom(p.Since, p.All)
	r, err := kept.Of(c.Request.Context(), history.Query{Lock: name, Since: since, Before: before, Limit: int(p.Limit)})
	if err != nil {
		return err
	}
	answer := struct {
		Name      string    `json:"name"`
		Node      string    `json:"node"`
		Since     time.Time `json:"since,omitzero"`
		Oldest    time.Time `json:"oldest,omitzero"` // of all that is kept
		Totals    totals    `json:"totals"`
		Counted   int       `json:"counted"` // of the totals; they are no items
		Dropped   uint64    `json:"dropped"`
		Items     []attempt `json:"items"`
		Elsewhere []span    `json:"elsewhere"`
		Next      string    `json:"next"`
	}{
		Name: name, Node: h.Manager.Config().Node, Since: inUTC(since), Oldest: inUTC(r.Oldest), Totals: totalsOf(&r.Totals),
		Counted: r.Counted, Dropped: r.Dropped, Items: make([]attempt, 0, len(r.Attempts)), Elsewhere: spansOf(r.Seen), Next: cursorOf(r.Next),
	}
	now := time.Now()
	for i := range r.Attempts {
		answer.Items = append(answer.Items, attemptOf(&r.Attempts[i], now))
	}
	writeJSON(c.Writer, http.StatusOK, answer)
	return nil
}

// contended lists the locks that this node's callers waited for most. It leaves out those
// that the caller may not look at.
func (h *Handler) contended(c *gin.Context) error {
	p := struct {
		Since params.Positive `param:"since"`
		All   params.Boolean  `param:"all"`
		Limit params.PageSize `param:"limit"`
	}{Since: defaultSince, Limit: 20}
	if err := params.Query(c.Request, &p); err != nil {
		return err
	}
	who := identityOf(c.Request.Context())
	if err := h.allow(who, access.Inspect); err != nil {
		return err
	}
	kept, err := h.kept()
	if err != nil {
		return err
	}
	since := lookFrom(p.Since, p.All)
	sees := func(lock string) bool { return h.Access.Sees(who.caller, access.Inspect, lock) }
	found, err := kept.Contended(c.Request.Context(), since, int(p.Limit), sees)
	if err != nil {
		return err
	}
	type item struct {
		Name string `json:"name"`
		totals
	}
	items := make([]item, 0, len(found))
	for i := range found {
		items = append(items, item{found[i].Lock, totalsOf(&found[i].Totals)})
	}
	dropped, _ := kept.Dropped()
	writeJSON(c.Writer, http.StatusOK, struct {
		Node    string    `json:"node"`
		Since   time.Time `json:"since,omitzero"`
		Dropped uint64    `json:"dropped"`
		Items   []item    `json:"items"`
	}{h.Manager.Config().Node, inUTC(since), dropped, items})
	return nil
}

// cursorOf is read by readCursor.
func cursorOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMicro(), 10)
}

func readCursor(c params.Cursor) (time.Time, error) {
	if c == "" {
		return time.Time{}, nil
	}
	us, err := strconv.ParseInt(string(c), 10, 64)
	if err != nil || us < 0 {
		return time.Time{}, session.Invalid("cursor", "%s is not the next of an answer", session.Quote(string(c)))
	}
	return time.UnixMicro(us), nil
}
