package cli

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/lockgw/lockgw/socket/client"
)

// HolderText is who holds a name, as far as is known: host-b pid 4411 (backup.sh).
// Of a process of this program its note tells more than its name.
func HolderText(h *client.Holder) string {
	var parts []string
	if h.Node != "" {
		parts = append(parts, h.Node)
	}
	if h.PID != 0 {
		parts = append(parts, fmt.Sprintf("pid %d", h.PID))
	}
	if what := workText(h); what != "" {
		parts = append(parts, "("+what+")")
	}
	if len(parts) == 0 {
		parts = append(parts, cmp.Or(h.Owner, h.Note))
	}
	return Printable(strings.Join(parts, " "))
}

// workText is the command and the note, where that says more: of a process of this
// program the note alone does, and the kernel cuts the name of a command.
func workText(h *client.Holder) string {
	switch {
	case h.Note == "", h.Node == "" && h.Command == "": // the owner id tells one from another then, if there is one
		return h.Command
	case h.Command == "lockgw", strings.HasPrefix(h.Note, h.Command):
		return h.Note
	default:
		return h.Command + ", " + h.Note
	}
}

// Printable is s without the characters that control a terminal: others have chosen s.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// printableLines is Printable of a text that may have several lines.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = Printable(l)
	}
	return strings.Join(lines, "\n")
}

// Ordinal is 1st, 2nd, 3rd.
func Ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n) + suffix
}
