package redis

import "github.com/lockgw/lockgw/backend"

// message is the arguments of EVAL or EVALSHA: the command and the script, which a
// lane fills in, the number of keys, the keys, and what the script is told.
type message []any

const (
	messageCommand = iota
	messageScript
	messageKeys // how many
	messageHead
)

// newMessage is one to which keys and then args have to be appended.
func newMessage(keys, args int) message {
	m := make(message, messageHead, messageHead+keys+args)
	m[messageKeys] = keys
	return m
}

// contender is this node, or one of its places.
func (b *Backend) contender(slot string) string {
	if slot == "" {
		return b.cfg.Node.ID
	}
	return b.cfg.Node.ID + "." + slot
}

// wire is a request as its message points to it: a pointer in an interface costs no
// allocation, a number or a string does.
type wire struct {
	keys
	backend.Request
	me, floor, nodeFloor string
	inc                  uint64
	window, fenceTTL     int64 // ms
	hold, block, least   uint64
	turn                 uint64
	ttl, delay           int64 // ms
	queue, mode          int
}

// message of r to the scripts about one name; see head.lua.
func (b *Backend) message(r backend.Request) message {
	w := &wire{
		keys: keysOf(b.cfg.KeyPrefix + r.Name), Request: r, me: b.contender(r.Slot), inc: b.cfg.Node.Incarnation,
		window: Window.Milliseconds(), fenceTTL: b.cfg.FenceTTL.Milliseconds(),
		hold: uint64(r.Hold), block: uint64(r.Block), least: uint64(r.Floor), turn: uint64(r.Turn),
		ttl: r.TTL.Milliseconds(), delay: r.Delay.Milliseconds(),
	}
	w.floor, w.nodeFloor = w.keys.floor+w.me, w.keys.floor+b.cfg.Node.ID
	w.Count, w.Turns, w.mode = max(r.Count, 1), max(r.Turns, 1), int(r.Mode)
	if r.Queue {
		w.queue = 1
	}
	return append(newMessage(10, 23),
		&w.lock, &w.state, &w.keys.queue, &w.entries, &w.counter, &w.last, &w.floor, &w.nodeFloor, &w.shares, &w.ends,
		&w.me, &w.inc, &w.Seq, &w.channel, &w.window, &w.fenceTTL, &w.Name,
		&w.hold, &w.block, &w.Attempt, (*string)(&w.Owner), &w.Count, &w.ttl, &w.Turns, &w.least,
		&w.queue, &w.Waiters, &w.turn, &w.delay, &w.Record,
		(*string)(&b.publish), &w.mode, b.guard.word(r))
}
