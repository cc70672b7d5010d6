package requests

import (
	"strconv"
	"strings"
)

// Message is what a script is told: keys, and then arguments. It is put together as one text,
// so that the many small ones of a write cost no allocation each. Make it with NewMessage.
type Message struct {
	keys  int
	text  strings.Builder
	parts []string // of text: each key and argument
}

// NewMessage is one to which as many keys have to be added, and then arguments; room is for
// about so many of these.
func NewMessage(keys, room int) *Message {
	m := &Message{keys: keys, parts: make([]string, 0, keys+room)}
	m.text.Grow(768)
	return m
}

// Add adds a key or an argument, in parts.
func (m *Message) Add(parts ...string) { m.add(m.text.Len(), parts) }

// AddBytes adds an argument.
func (m *Message) AddBytes(b []byte) {
	begin := m.text.Len()
	m.text.Write(b)
	m.add(begin, nil)
}

// AddNumber adds an argument: n, and what stands behind it.
func (m *Message) AddNumber(n int64, behind ...string) {
	var digits [20]byte
	begin := m.text.Len()
	m.text.Write(strconv.AppendInt(digits[:0], n, 10))
	m.add(begin, behind)
}

// add ends the key or argument that begins there, by these parts.
func (m *Message) add(begin int, parts []string) {
	for _, p := range parts {
		m.text.WriteString(p)
	}
	m.parts = append(m.parts, m.text.String()[begin:])
}

// args are those of EVAL or EVALSHA, with script as its text or its hash.
func (m *Message) args(command string, script *string) []any {
	const head = 3
	all := make([]any, head+len(m.parts))
	all[0], all[1], all[2] = command, script, m.keys
	for i := range m.parts {
		all[head+i] = &m.parts[i] // a string itself would be copied to the heap
	}
	return all
}
