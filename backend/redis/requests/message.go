package requests

// Message is the arguments of EVAL or EVALSHA: the command and the script, which a
// lane fills in, the number of keys, the keys, and what the script is told.
type Message []any

const (
	messageCommand = iota
	messageScript
	messageKeys // how many
	messageHead
)

// NewMessage is one to which keys and then args have to be appended.
func NewMessage(keys, args int) Message {
	m := make(Message, messageHead, messageHead+keys+args)
	m[messageKeys] = keys
	return m
}
