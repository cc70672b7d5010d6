package ledger

import (
	"fmt"
	"strconv"
	"strings"
)

// NewMessage is a message to node about a name; false: it is none that anybody sends. Whoever may
// write to the store can forge one, so that a record that comes with it is only ever compared with.
func NewMessage(node, name string, k Kind, text string) (Addressed, bool) {
	ok := k >= Look && k <= Told && k != Resync && name != "" && len(text) <= MaxText
	return Addressed{Name: name, Message: Message{Node: node, Kind: k, Text: text}}, ok
}

// Heading is how a message begins where it is one text. Behind a space the text of the message may
// follow, or what the store sends with it. The length is told because a name may have spaces in it.
func Heading(k Kind, name string) string {
	return fmt.Sprintf("%d %d %s", k, len(name), name)
}

// ParseMessage reads a message to node that begins by a Heading. with is what the store has sent with
// it. false: it is none that anybody sends.
func ParseMessage(payload, node string) (m Addressed, with string, ok bool) {
	kind, rest, _ := strings.Cut(payload, " ")
	length, rest, _ := strings.Cut(rest, " ")
	number, _ := strconv.Atoi(kind) // 0, which is no kind, if it is no number
	n, _ := strconv.Atoi(length)
	if n <= 0 || n > len(rest) {
		return m, "", false
	}
	name, with := rest[:n], strings.TrimPrefix(rest[n:], " ")
	k, text := Kind(number), ""
	if k == Tell || k == Told {
		text, with = with, ""
	}
	m, ok = NewMessage(node, name, k, text)
	return m, with, ok
}
