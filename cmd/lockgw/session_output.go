package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lockgw/lockgw/session"
)

// summaryOut is a session as JSON, as an administrator sees it, with the names of the
// HTTP API.
type summaryOut struct {
	ID   string            `json:"id"`
	UUID string            `json:"uuid"`
	Name string            `json:"name,omitempty"`
	Meta map[string]string `json:"meta,omitempty"`
	session.Peer
	Since           time.Time    `json:"since"`
	Life            session.Life `json:"life"`
	BoundPID        int          `json:"bound_pid,omitempty"`
	Connections     int          `json:"connections"`
	TTLMS           int64        `json:"ttl_ms,omitempty"`
	KeepaliveMS     int64        `json:"keepalive_ms,omitempty"`
	KeepaliveLeftMS *int64       `json:"keepalive_left_ms,omitempty"`
	MaxHoldMS       int64        `json:"max_hold_ms,omitempty"`
	Holds           int          `json:"holds"`
	Locks           []string     `json:"locks"`
	Waits           int          `json:"waits"`
	Queues          []string     `json:"queues"`
}

func newSummaryOut(s session.Summary) summaryOut {
	out := summaryOut{
		ID: s.ID, UUID: s.UUID, Name: s.Name, Meta: s.Meta, Peer: s.Peer, Since: s.Since, Life: s.Life, BoundPID: s.Process,
		Connections: s.Conns, TTLMS: s.TTL.Milliseconds(), KeepaliveMS: s.Keepalive.Milliseconds(), MaxHoldMS: s.MaxHold.Milliseconds(),
		Holds: s.Holds, Locks: append([]string{}, s.Locks...), Waits: s.Waits, Queues: append([]string{}, s.Queues...),
	}
	if s.Keepalive > 0 {
		left := s.Left.Milliseconds()
		out.KeepaliveLeftMS = &left
	}
	return out
}

// writeSessions writes a list of sessions in the form that was asked for.
func (o outputFlag) writeSessions(w io.Writer, all []session.Summary) error {
	switch o.format {
	case "json":
		list := []summaryOut{}
		for _, s := range all {
			list = append(list, newSummaryOut(s))
		}
		return writeJSON(w, list)
	case "name":
		for _, s := range all {
			fmt.Fprintln(w, s.ID)
		}
		return nil
	default:
		return o.writeSessionTable(w, all)
	}
}

func (o outputFlag) writeSessionTable(w io.Writer, all []session.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprint(t, "ID\tCLIENT\tNAME\tLIVES BY\tSINCE\tHOLDS\tWAITS FOR")
	if o.format == "wide" {
		fmt.Fprint(t, "\tUID\tMAX HOLD\tUUID\tMETA")
	}
	fmt.Fprintln(t)
	for _, s := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s", s.ID, clientText(s.Peer), dash(printable(s.Name)), lifeText(s),
			age(max(0, time.Since(s.Since))), o.namesText(s.Locks, s.Holds), o.namesText(s.Queues, s.Waits))
		if o.format == "wide" {
			fmt.Fprintf(t, "\t%s\t%s\t%s\t%s", uidText(s.Peer.UID), dash(showDuration(s.MaxHold)), s.UUID, dash(metaText(s.Meta)))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// clientText is who opened a session; nobody can tell over TCP.
func clientText(p session.Peer) string {
	if p.PID == 0 {
		return "-"
	}
	return holderText(&session.Holder{Peer: p})
}

// lifeText is what a session lives by.
func lifeText(s session.Summary) string {
	switch s.Life {
	case session.LifeProcess:
		return fmt.Sprintf("process %d", s.Process)
	case session.LifeKeepalive:
		return fmt.Sprintf("keepalive, %s of %s left", age(s.Left), duration(s.Keepalive))
	case session.LifeConnection:
		if s.Conns > 1 {
			return fmt.Sprintf("%d connections", s.Conns)
		}
		return "connection"
	default:
		return strings.TrimSpace(string(s.Life) + " " + showDuration(s.MaxHold))
	}
}

// namesText is a few names, and how many there are besides; wide: all that were told.
func (o outputFlag) namesText(names []string, n int) string {
	few := names[:min(len(names), 2)]
	if o.format == "wide" {
		few = names
	}
	text := strings.Join(few, ", ")
	if more := n - len(few); more > 0 && len(few) > 0 {
		text += fmt.Sprintf(" +%d", more)
	}
	return dash(text)
}

func metaText(meta map[string]string) string {
	var parts []string
	for k, v := range meta {
		parts = append(parts, k+"="+v)
	}
	slices.Sort(parts)
	return printable(strings.Join(parts, " "))
}
