package requests

import "strconv"

// Message is what a script is told: keys, and then arguments. It is put together as one text,
// so that the many small ones of a write cost one allocation. Make it with NewMessage.
type Message struct {
	keys int
	text []byte
	ends []int // in text, of each key and argument
}

// NewMessage is one to which as many keys have to be added, and then arguments; room is for
// about so many of these.
func NewMessage(keys, room int) Message {
	return Message{text: make([]byte, 0, 768), ends: make([]int, 0, keys+room), keys: keys}
}

// Add adds a key or an argument, in parts.
func (m *Message) Add(parts ...string) {
	for _, p := range parts {
		m.text = append(m.text, p...)
	}
	m.ends = append(m.ends, len(m.text))
}

// AddBytes adds an argument.
func (m *Message) AddBytes(b []byte) {
	m.text = append(m.text, b...)
	m.ends = append(m.ends, len(m.text))
}

// AddNumber adds an argument: n, and what stands behind it.
func (m *Message) AddNumber(n int64, behind ...string) {
	m.text = strconv.AppendInt(m.text, n, 10)
	m.Add(behind...)
}

// args are those of EVAL or EVALSHA, with script as its text or its hash.
func (m *Message) args(command string, script *string) []any {
	const head = 3
	all, texts := make([]any, head+len(m.ends)), make([]string, len(m.ends))
	all[0], all[1], all[2] = command, script, m.keys
	text, begin := string(m.text), 0
	for i, end := range m.ends {
		texts[i] = text[begin:end]
		all[head+i] = &texts[i] // a string itself would be copied to the heap
		begin = end
	}
	return all
}
