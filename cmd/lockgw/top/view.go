package top

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// The parts of a line that stand out; no colours.
const (
	bold    = "\x1b[1m"
	reverse = "\x1b[7m"
	plain   = "\x1b[0m"
)

// topKeys is the last line.
const topKeys = "n h l w f sort   / filter   up down select   b break   q quit"

// sinceOf is when the hold of a lock began; zero: not known, or free.
func sinceOf(st client.Status) time.Time {
	if st.Holder == nil {
		return time.Time{}
	}
	return st.Holder.Since
}

// View implements tea.Model.
func (s *screen) View() tea.View {
	v := tea.NewView(strings.Join(s.lines(time.Now()), "\n"))
	v.AltScreen = true
	v.WindowTitle = "lockgw top"
	return v
}

// lines are the screen: a head, the table around the selected lock, and what the
// keys do.
func (s *screen) lines(now time.Time) []string {
	table := s.table(now)
	rows := max(1, s.height-5) // without the head, its own head and two lines at the end
	first := max(0, min(s.place()-rows/2, len(table)-1-rows))
	out := []string{s.line(bold, s.summary(now)), "", s.line(bold, table[0])}
	for i, row := range table[1:] {
		if i < first || i >= first+rows {
			continue
		}
		style := ""
		if i == s.place() {
			style = reverse
		}
		out = append(out, s.line(style, row))
	}
	if len(s.all) == 0 && !s.at.IsZero() {
		out = append(out, s.line("", "No lock is held or waited for."))
	}
	out = append(out, "")
	if s.asked != nil { // the question is seen, whatever else is
		out = out[:max(0, min(len(out), s.height-1))]
	}
	return append(out, s.line("", s.foot()))
}

// line is cut to the width of the terminal.
func (s *screen) line(style, text string) string {
	text = cli.Cut(text, s.width)
	if style == "" {
		return text
	}
	return style + text + plain
}

func (s *screen) summary(now time.Time) string {
	held, waiting := "", ""
	if s.page.AtLeast {
		waiting = "at least "
	}
	if s.page.Incomplete != "" {
		held = "at least "
	}
	text := fmt.Sprintf("lockgw: %s%d held, %s%d waiting, by %s", held, s.page.Held, waiting, s.page.Waiting, s.order.by)
	if s.page.Next != "" {
		text += fmt.Sprintf(", the first %d", len(s.all))
	}
	if s.prefix != "" {
		text += ", names that begin with " + cli.Printable(s.prefix)
	}
	if s.page.Incomplete != "" {
		text += ", incomplete: " + cli.Printable(s.page.Incomplete)
	}
	switch {
	case s.err != nil && s.at.IsZero():
		text = "lockgw: " + cli.Printable(s.err.Error())
	case s.err != nil:
		text = fmt.Sprintf("lockgw: as of %s ago: %s", cli.Age(now.Sub(s.at)), cli.Printable(s.err.Error()))
	case s.at.IsZero():
		text = "lockgw: asking the gateway"
	}
	return text
}

func (s *screen) foot() string {
	switch {
	case s.asked != nil:
		return s.question()
	case s.typing:
		return "Names that begin with: " + cli.Printable(s.prefix) + "_"
	case s.note != "":
		return cli.Printable(s.note)
	}
	return topKeys
}

// leastAsked is how short the subject of a question may be cut to make room for the rest.
const leastAsked = 20

// Ways to ask, the longer ones first.
var wantsAnswer = []string{"? Be sure that it is dead. y or n", "? y or n"}

// question is whether what was selected is to be broken; "": the terminal is too narrow for it.
func (s *screen) question() string {
	what := fmt.Sprintf("Take %s from %s, fence %d", cli.Printable(s.asked.Name), cli.HolderText(s.asked.Holder), s.asked.Fence)
	for _, end := range wantsAnswer {
		if room := s.width - len(end); room > leastAsked {
			return cli.Cut(what, room) + end
		}
	}
	return ""
}

// leastHolder is how short a holder may be cut to make room for the rest.
const leastHolder = 12

// table is the head and a line for each lock. Where the terminal is too narrow,
// it is the holders that are cut: the fence is needed to the last digit.
func (s *screen) table(now time.Time) []string {
	holders := make([]string, len(s.all))
	longest := 0
	for i, st := range s.all {
		holders[i] = "-"
		if st.Holder != nil {
			holders[i] = cli.HolderText(st.Holder)
		}
		longest = max(longest, utf8.RuneCountInString(holders[i]))
	}
	lines := s.tableOf(holders, now)
	widest := 0
	for _, line := range lines {
		widest = max(widest, utf8.RuneCountInString(line))
	}
	if most := longest - (widest - s.width) - 1; widest >= s.width && longest > leastHolder {
		for i := range holders {
			holders[i] = cli.Cut(holders[i], max(most, leastHolder)+1)
		}
		return s.tableOf(holders, now)
	}
	return lines
}

// tableOf: times go on between two looks.
func (s *screen) tableOf(holders []string, now time.Time) []string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "NAME\tSTATE\tHOLDER\tHELD\tLEASE\tWAITERS\tFENCE")
	for i, st := range s.all {
		held, lease := "-", "-"
		if since := sinceOf(st); !since.IsZero() {
			held = cli.Age(now.Sub(since))
		}
		if st.TTL > 0 {
			lease = cli.Age(st.TTL - now.Sub(s.at))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\n", cli.Printable(st.Name), cli.StateText(st), holders[i], held, lease, cli.WaitersText(st), st.Fence)
	}
	_ = t.Flush() // into memory
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}
