package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/params"
	"github.com/lockgw/lockgw/api/past"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/session/history"
)

// defaultSince is how far back a history goes that is asked for without a time.
const defaultSince = params.Positive(24 * time.Hour)

func personOf(h *session.Holder) past.Person {
	return past.Person{
		Owner: h.Owner, Node: h.Node, PID: h.PID, Command: h.Command, UID: uidOf(h.UID), AskedBy: askerOf(h.AskedBy), Note: h.Note,
	}
}

func spansOf(all []history.Span) []past.Span {
	out := make([]past.Span, 0, len(all))
	for i := range all {
		s := &all[i]
		out = append(out, past.Span{Person: personOf(&s.Who), From: s.From.UTC(), Until: s.Until.UTC()})
	}
	return out
}

func attemptOf(t *history.Told, now time.Time) past.Attempt {
	return past.Attempt{
		Person: personOf(&t.Who), Mode: t.Mode, Asked: t.Asked.UTC(), WaitedMS: t.Waited(now).Milliseconds(),
		Granted: t.Granted.UTC(), HeldMS: t.Held(now).Milliseconds(), Ended: t.Ended.UTC(), Outcome: string(t.Outcome), Reason: t.Reason,
		Fence: t.Fence, Ahead: t.Ahead, Behind: spansOf(t.Meanwhile), BehindMore: t.Others,
	}
}

func totalsOf(t *history.Totals) past.Totals {
	return past.Totals{Attempts: t.Attempts, Refused: t.Refused, Lost: t.Lost, Waited: quantityOf(&t.Waited), Held: quantityOf(&t.Held)}
}

func quantityOf(d *history.Durations) past.Quantity {
	return past.Quantity{
		P50MS: d.Percentile(0.5).Milliseconds(), P99MS: d.Percentile(0.99).Milliseconds(), WorstMS: d.Worst().Milliseconds(), TotalMS: d.Sum().Milliseconds(),
	}
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
	p := struct {
		Since  params.Positive `param:"since"`
		All    params.Boolean  `param:"all"`
		Limit  params.PageSize `param:"limit"`
		Cursor params.Cursor   `param:"cursor"`
	}{Since: defaultSince, Limit: defaultPage}
	name, err := lockQuery(c, &p)
	if err != nil {
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
	answer := past.History{
		Name: name, Node: h.Manager.Config().Node, Since: since.UTC(), Oldest: r.Oldest.UTC(), Totals: totalsOf(&r.Totals),
		Counted: r.Counted, Dropped: r.Dropped, Items: make([]past.Attempt, 0, len(r.Attempts)), Elsewhere: spansOf(r.Seen), Next: cursorOf(r.Next),
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
	dropped, _ := kept.Dropped()
	answer := past.Contended{Node: h.Manager.Config().Node, Since: since.UTC(), Dropped: dropped, Items: make([]past.ContendedLock, 0, len(found))}
	for i := range found {
		answer.Items = append(answer.Items, past.ContendedLock{Name: found[i].Lock, Totals: totalsOf(&found[i].Totals)})
	}
	writeJSON(c.Writer, http.StatusOK, answer)
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
