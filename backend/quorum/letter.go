package quorum

import (
	"slices"

	"github.com/lockgw/lockgw/backend/ledger"
)

// Note is a message as it is written to a node.
type Note struct {
	Kind ledger.Kind `json:"kind"`
	Name string      `json:"name"`
	Text string      `json:"text,omitempty"`
}

// Letter is what is written to a node at once.
type Letter struct {
	Node  string
	Notes []Note
}

// Letters are ms by node.
func Letters(ms []ledger.Addressed) (out []Letter) {
	for _, m := range ms {
		i := slices.IndexFunc(out, func(l Letter) bool { return l.Node == m.Node })
		if i < 0 {
			i = len(out)
			out = append(out, Letter{Node: m.Node})
		}
		out[i].Notes = append(out[i].Notes, Note{m.Kind, m.Name, m.Text})
	}
	return out
}

// About are ms, which are all about one name.
func About(name string, ms []ledger.Message) []ledger.Addressed {
	out := make([]ledger.Addressed, len(ms))
	for i, m := range ms {
		out[i] = ledger.Addressed{Name: name, Message: m}
	}
	return out
}

// Message is the one that n is to node; see ledger.NewMessage.
func (n Note) Message(node string) (ledger.Addressed, bool) {
	return ledger.NewMessage(node, n.Name, n.Kind, n.Text)
}
