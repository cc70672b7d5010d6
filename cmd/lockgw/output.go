package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// outputFlag says in which form a command writes what it was asked for.
type outputFlag struct{ format string }

func (o *outputFlag) add(f *pflag.FlagSet) {
	o.format = "table"
	choiceVar(f, &o.format, "output", "o", "form of the output", "table", "wide", "json", "name")
}

// lockOut is a lock as JSON, with the names of the HTTP API.
type lockOut struct {
	Name    string        `json:"name"`
	State   session.State `json:"state"`
	Mode    string        `json:"mode,omitempty"`
	Holders int           `json:"holders,omitempty"`
	Limit   int           `json:"limit,omitempty"`
	Holder  *holderOut    `json:"holder"`
	Shares  []shareOut    `json:"holders_list,omitempty"`
	Waiters int           `json:"waiters"`
	Queue   []*holderOut  `json:"queue"`
	Fence   backend.Fence `json:"fence"`
	TTLMS   int64         `json:"ttl_ms"`
	Trouble string        `json:"trouble,omitempty"`
}

type holderOut struct {
	session.Holder
	HeldMS int64 `json:"held_ms"`
}

type shareOut struct {
	*holderOut
	Fence backend.Fence `json:"fence"`
	TTLMS int64         `json:"ttl_ms"`
}

func newLockOut(st session.Status, now time.Time) lockOut {
	l := lockOut{
		Name: st.Name, State: st.State, Holder: newHolderOut(st.Holder, now), Waiters: st.Waiters,
		Queue: []*holderOut{}, Fence: st.Fence, TTLMS: st.TTL.Milliseconds(), Trouble: st.Trouble,
	}
	if st.State == session.StateHeld {
		l.Mode, l.Holders, l.Limit = st.Mode.String(), st.Holders, st.Mode.Limit()
	}
	for _, s := range st.Shares {
		l.Shares = append(l.Shares, shareOut{newHolderOut(&s.Holder, now), s.Fence, s.TTL.Milliseconds()})
	}
	for _, h := range st.Queue {
		l.Queue = append(l.Queue, newHolderOut(&h, now))
	}
	return l
}

func newHolderOut(h *session.Holder, now time.Time) *holderOut {
	if h == nil {
		return nil
	}
	return &holderOut{Holder: *h, HeldMS: since(*h, now).Milliseconds()}
}

// since is how long ago a hold began, 0 if that is not known.
func since(h session.Holder, now time.Time) time.Duration {
	if h.Since.IsZero() {
		return 0
	}
	return max(0, now.Sub(h.Since))
}

// writeLocks writes a list of locks in the form that was asked for.
func (o outputFlag) writeLocks(w io.Writer, all []session.Status, now time.Time) error {
	switch o.format {
	case "json":
		list := []lockOut{}
		for _, st := range all {
			list = append(list, newLockOut(st, now))
		}
		return writeJSON(w, list)
	case "name":
		for _, st := range all {
			fmt.Fprintln(w, st.Name)
		}
		return nil
	default:
		return o.writeTable(w, all, now)
	}
}

func (o outputFlag) writeTable(w io.Writer, all []session.Status, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprint(t, "NAME\tSTATE\tHOLDER\tSINCE\tLEASE\tWAITERS\tFENCE")
	if o.format == "wide" {
		fmt.Fprint(t, "\tOWNER\tUID\tNOTE")
	}
	fmt.Fprintln(t)
	for _, st := range all {
		h, holder, from := session.Holder{Peer: session.NoPeer()}, "-", "-"
		if st.Holder != nil {
			h, holder, from = *st.Holder, holderText(st.Holder), age(since(*st.Holder, now))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%d", printable(st.Name), stateText(st), holder, from, leaseText(st), st.Waiters, st.Fence)
		if o.format == "wide" {
			fmt.Fprintf(t, "\t%s\t%s\t%s", dash(string(h.Owner)), uidText(h.UID), dash(printable(h.Note)))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// stateText is the state, and who else may hold the name.
func stateText(st session.Status) string {
	switch {
	case st.State != session.StateHeld || st.Mode == backend.Exclusive:
		return string(st.State)
	case st.Mode == backend.Shared:
		return fmt.Sprintf("%s, shared by %d", st.State, st.Holders)
	default:
		return fmt.Sprintf("%s, %d of %d", st.State, st.Holders, st.Mode.Limit())
	}
}

func leaseText(st session.Status) string {
	if st.TTL == 0 {
		return "-"
	}
	return duration(st.TTL.Round(100 * time.Millisecond))
}

func uidText(uid int) string {
	if uid < 0 {
		return "-"
	}
	return fmt.Sprint(uid)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
