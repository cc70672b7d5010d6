package verbs

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// sessionOut is a session as JSON, with the names of the HTTP API.
type sessionOut struct {
	ID          string    `json:"id"`
	UUID        string    `json:"uuid"`
	KeepaliveMS int64     `json:"keepalive_ms"`
	Since       time.Time `json:"since"`
	Locks       []holdOut `json:"locks"`
}

func newSessionOut(info client.SessionInfo) sessionOut {
	out := sessionOut{
		ID: info.ID, UUID: info.UUID, KeepaliveMS: info.Keepalive.Milliseconds(), Since: info.Since, Locks: []holdOut{},
	}
	for _, v := range info.Holds {
		out.Locks = append(out.Locks, newHoldOut(v, client.Token("")))
	}
	return out
}

func writeSession(w io.Writer, info client.SessionInfo) error {
	keepalive := "none: it lives by its connections or its process"
	if info.Keepalive > 0 {
		keepalive = cli.Duration(info.Keepalive)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "Session:\n  Id:\t%s\n  UUID:\t%s\n  Since:\t%s\n  Keepalive:\t%s\n",
		info.ID, info.UUID, info.Since.Local().Format(time.DateTime), keepalive)
	if len(info.Holds) == 0 {
		fmt.Fprintln(t, "  Holds:\tnothing")
		return t.Flush()
	}
	fmt.Fprintln(t, "\nNAME\tSTATE\tLEASE\tCOUNT\tFENCE")
	for _, v := range info.Holds {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\n", cli.Printable(v.Name), v.State, cli.Duration(v.Left.Round(100*time.Millisecond)), v.Count, v.Fence)
	}
	return t.Flush()
}

// summaryOut is a session as JSON, as an administrator sees it, with the names of the
// HTTP API.
type summaryOut struct {
	ID   string            `json:"id"`
	UUID string            `json:"uuid"`
	Name string            `json:"name,omitempty"`
	Meta map[string]string `json:"meta,omitempty"`
	client.Process
	UID             *int        `json:"uid,omitempty"` // none: unknown
	Since           time.Time   `json:"since"`
	Life            client.Life `json:"life"`
	BoundPID        int         `json:"bound_pid,omitempty"`
	Connections     int         `json:"connections"`
	TTLMS           int64       `json:"ttl_ms,omitempty"`
	KeepaliveMS     int64       `json:"keepalive_ms,omitempty"`
	KeepaliveLeftMS *int64      `json:"keepalive_left_ms,omitempty"`
	MaxHoldMS       int64       `json:"max_hold_ms,omitempty"`
	Holds           int         `json:"holds"`
	Locks           []string    `json:"locks"`
	Waits           int         `json:"waits"`
	Queues          []string    `json:"queues"`
}

func newSummaryOut(s client.Summary) summaryOut {
	out := summaryOut{
		ID: s.ID, UUID: s.UUID, Name: s.Name, Meta: s.Meta, Process: s.Process, Since: s.Since, Life: s.Life, BoundPID: s.BoundPID,
		Connections: s.Connections, TTLMS: s.TTL.Milliseconds(), KeepaliveMS: s.Keepalive.Milliseconds(), MaxHoldMS: s.MaxHold.Milliseconds(),
		Holds: s.Holds, Locks: append([]string{}, s.Locks...), Waits: s.Waits, Queues: append([]string{}, s.Queues...),
	}
	if s.Process.UID >= 0 {
		out.UID = &s.Process.UID
	}
	if s.Keepalive > 0 {
		left := s.Left.Milliseconds()
		out.KeepaliveLeftMS = &left
	}
	return out
}

// writeSessions writes a list of sessions in the form that was asked for.
func writeSessions(w io.Writer, o cli.Output, all []client.Summary) error {
	list, ids := []summaryOut{}, []string{}
	for _, s := range all {
		list, ids = append(list, newSummaryOut(s)), append(ids, s.ID)
	}
	return o.Write(w, list, ids, func() error { return writeSessionTable(w, o, all) })
}

func writeSessionTable(w io.Writer, o cli.Output, all []client.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprint(t, "ID\tCLIENT\tNAME\tLIVES BY\tSINCE\tHOLDS\tWAITS FOR")
	if o.Format == "wide" {
		fmt.Fprint(t, "\tUID\tMAX HOLD\tUUID\tMETA")
	}
	fmt.Fprintln(t)
	for _, s := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s", s.ID, clientText(s.Process), cli.Dash(cli.Printable(s.Name)), lifeText(s),
			cli.Age(max(0, time.Since(s.Since))), namesText(o, s.Locks, s.Holds), namesText(o, s.Queues, s.Waits))
		if o.Format == "wide" {
			fmt.Fprintf(t, "\t%s\t%s\t%s\t%s", cli.UIDText(s.Process.UID), cli.Dash(cli.ShowDuration(s.MaxHold)), s.UUID, cli.Dash(metaText(s.Meta)))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// clientText is who opened a session; over TCP that is not known.
func clientText(p client.Process) string {
	if p.PID == 0 {
		return "-"
	}
	return cli.HolderText(&client.Holder{Process: p})
}

// lifeText is what keeps a session alive.
func lifeText(s client.Summary) string {
	switch s.Life {
	case client.LifeProcess:
		return fmt.Sprintf("process %d", s.BoundPID)
	case client.LifeKeepalive:
		return fmt.Sprintf("keepalive, %s of %s left", cli.Age(s.Left), cli.Duration(s.Keepalive))
	case client.LifeConnection:
		if s.Connections > 1 {
			return fmt.Sprintf("%d connections", s.Connections)
		}
		return "connection"
	default:
		return strings.TrimSpace(string(s.Life) + " " + cli.ShowDuration(s.MaxHold))
	}
}

// namesText is a few names, and how many more there are; wide: all names of the answer.
func namesText(o cli.Output, names []string, n int) string {
	few := names[:min(len(names), 2)]
	if o.Format == "wide" {
		few = names
	}
	text := strings.Join(few, ", ")
	if more := n - len(few); more > 0 && len(few) > 0 {
		text += fmt.Sprintf(" +%d", more)
	}
	return cli.Dash(text)
}

func metaText(meta map[string]string) string {
	var parts []string
	for k, v := range meta {
		parts = append(parts, k+"="+v)
	}
	slices.Sort(parts)
	return cli.Printable(strings.Join(parts, " "))
}
