package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/socket/client"
)

// MaxLocks is how many the gateway lists at once.
const MaxLocks = 1000

// ShowLocks writes what q asks for, all of it or the first MaxLocks.
func (o Output) ShowLocks(ctx context.Context, cmd *cobra.Command, c *client.Client, q client.LockQuery, all bool) error {
	found, err := listLocks(ctx, cmd, c, q, all)
	if err != nil {
		return err
	}
	return o.WriteLocks(cmd.OutOrStdout(), found, time.Now())
}

// listLocks lists what q asks for, all of it or the first MaxLocks, and says what it leaves
// out. That some cannot be had at present is no failure: what there is may be all that was
// looked for.
func listLocks(ctx context.Context, cmd *cobra.Command, c *client.Client, q client.LockQuery, all bool) (found []client.Status, err error) {
	q.Limit = MaxLocks
	for {
		page, err := c.Locks(ctx, q)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Items...)
		if page.Next != "" && all {
			q.Cursor = page.Next
			continue
		}
		if page.Incomplete != "" {
			fmt.Fprintln(cmd.ErrOrStderr(), "lockgw: this list is incomplete:", Printable(page.Incomplete))
		}
		if page.Next != "" {
			least := ""
			if page.AtLeast && (page.Incomplete != "" || q.State == "waited") {
				least = "at least "
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "lockgw: these are %d of %s%d locks; ls --all lists all\n", len(found), least, page.Locks)
		}
		return found, nil
	}
}

// LockJSON is a lock as JSON, with the names of the HTTP API.
type LockJSON struct {
	Name    string          `json:"name"`
	State   client.State    `json:"state"`
	Mode    string          `json:"mode,omitempty"`
	Holders int             `json:"holders,omitempty"`
	Limit   int             `json:"limit,omitempty"`
	Holder  *HolderJSON     `json:"holder"`
	Shares  []ShareJSON     `json:"holders_list,omitempty"`
	Waiters int             `json:"waiters"`
	More    bool            `json:"waiters_at_least,omitempty"`
	Next    *HolderJSON     `json:"next,omitempty"`
	Away    bool            `json:"next_elsewhere,omitempty"`
	Queue   []*HolderJSON   `json:"queue"`
	Ahead   int             `json:"ahead,omitempty"`
	Fence   uint64          `json:"fence"`
	TTLMS   int64           `json:"ttl_ms"`
	Silent  []client.Silent `json:"silent,omitempty"`
	Trouble string          `json:"trouble,omitempty"`
}

// HolderJSON is one who holds or waits.
type HolderJSON struct {
	client.Holder
	UID    *int  `json:"uid,omitempty"` // none: unknown
	HeldMS int64 `json:"held_ms"`
}

// ShareJSON is one of several holders.
type ShareJSON struct {
	*HolderJSON
	Fence uint64 `json:"fence"`
	TTLMS int64  `json:"ttl_ms"`
}

// NewLockJSON is st as of now.
func NewLockJSON(st client.Status, now time.Time) LockJSON {
	l := LockJSON{
		Name: st.Name, State: st.State, Holder: newHolderJSON(st.Holder, now), Waiters: st.Waiters, More: st.MoreWait,
		Queue: []*HolderJSON{}, Ahead: st.Ahead, Fence: st.Fence, TTLMS: st.TTL.Milliseconds(), Silent: st.Silent, Trouble: st.Trouble,
	}
	if l.Away = st.Next != nil && st.Next.Owner == ""; !l.Away {
		l.Next = newHolderJSON(st.Next, now)
	}
	if st.State == client.Held {
		l.Mode, l.Holders, l.Limit = string(st.Mode), st.Holders, st.Limit
	}
	for _, s := range st.Shares {
		l.Shares = append(l.Shares, ShareJSON{newHolderJSON(&s.Holder, now), s.Fence, s.TTL.Milliseconds()})
	}
	for _, h := range st.Queue {
		l.Queue = append(l.Queue, newHolderJSON(&h, now))
	}
	return l
}

func newHolderJSON(h *client.Holder, now time.Time) *HolderJSON {
	if h == nil {
		return nil
	}
	out := &HolderJSON{Holder: *h, HeldMS: HeldFor(*h, now).Milliseconds()}
	if h.UID >= 0 {
		out.UID = &h.UID
	}
	return out
}

// HeldFor is how long ago a hold began, 0 if that is not known.
func HeldFor(h client.Holder, now time.Time) time.Duration {
	if h.Since.IsZero() {
		return 0
	}
	return max(0, now.Sub(h.Since))
}

// WriteLocks writes a list of locks in the form that was asked for.
func (o Output) WriteLocks(w io.Writer, all []client.Status, now time.Time) error {
	list, names := []LockJSON{}, []string{}
	for _, st := range all {
		list, names = append(list, NewLockJSON(st, now)), append(names, st.Name)
	}
	return o.Write(w, list, names, func() error { return o.writeTable(w, all, now) })
}

func (o Output) writeTable(w io.Writer, all []client.Status, now time.Time) error {
	var rest bytes.Buffer
	t := tabwriter.NewWriter(&rest, 0, 0, 3, ' ', 0)
	fmt.Fprint(t, "STATE\tHOLDER\tSINCE\tLEASE\tWAITERS\tFENCE")
	if o.Format == "wide" {
		fmt.Fprint(t, "\tOWNER\tUID\tNOTE")
	}
	fmt.Fprintln(t)
	for _, st := range all {
		h, holder, from := client.Holder{Process: client.Process{UID: -1}}, "-", "-"
		if st.Holder != nil {
			h, holder = *st.Holder, HolderText(st.Holder)
		}
		if !h.Since.IsZero() { // of a program outside lockgw it is not known
			from = Age(HeldFor(h, now))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d", StateText(st), holder, from, LeaseText(st), WaitersText(st), st.Fence)
		if o.Format == "wide" {
			fmt.Fprintf(t, "\t%s\t%s\t%s", Dash(Printable(h.Owner)), UIDText(h.UID), Dash(Printable(h.Note)))
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // a buffer takes all
	return writeNamed(w, all, rest.String())
}

// maxNameWidth is how wide the column of names is at most.
const maxNameWidth = 40

// writeNamed puts the names before the rows of a table. A name that is wider than the
// column moves its own row alone.
func writeNamed(w io.Writer, all []client.Status, rows string) error {
	names, width := []string{"NAME"}, 4
	for _, st := range all {
		name := Printable(st.Name)
		names = append(names, name)
		if n := utf8.RuneCountInString(name); n <= maxNameWidth {
			width = max(width, n)
		}
	}
	for i, row := range slices.Collect(strings.Lines(rows)) {
		if _, err := fmt.Fprintf(w, "%-*s   %s", width, names[i], row); err != nil {
			return err
		}
	}
	return nil
}

// StateText is the state, and who else may hold the name.
func StateText(st client.Status) string {
	switch {
	case st.State == client.Held && st.Mode == client.Shared:
		return fmt.Sprintf("%s, shared by %d", st.State, st.Holders)
	case st.State == client.Held && st.Mode == client.Semaphore:
		return fmt.Sprintf("%s, %d of %d", st.State, st.Holders, st.Limit)
	default:
		return string(st.State)
	}
}

// WaitersText is how many wait, with a plus where there may be more.
func WaitersText(st client.Status) string {
	if st.MoreWait {
		return fmt.Sprintf("%d+", st.Waiters)
	}
	return fmt.Sprint(st.Waiters)
}

// LeaseText is the rest of the lease, "-" where there is none.
func LeaseText(st client.Status) string {
	if st.TTL == 0 {
		return "-"
	}
	return Duration(st.TTL.Round(100 * time.Millisecond))
}

// UIDText is a user id, "-" if it is not known.
func UIDText(uid int) string {
	if uid < 0 {
		return "-"
	}
	return fmt.Sprint(uid)
}
