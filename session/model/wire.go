package model

// verb of a request.
type verb int8

const (
	none verb = iota
	acquire
	confirm
	extend
	release
	cancel
	renew
	describe
	reclaim
	assert // planned
)

// flight is where a request is.
type flight int8

const (
	quiet    flight = iota // had no answer, waits to be sent again
	flying                 // on its way to the store
	answered               // its answer is on its way back
)

// kind of an answer.
type kind int8

const (
	noAnswer kind = iota
	granted
	inQueue
	done
	others // no block: another contender waits
	held
	notHeld
	forgotten // planned: the store knows of no hold, and may have forgotten one
	stale
)

// fence of a turn: the N-th of a block.
type fence struct{ Block, N int8 }

func (f fence) less(g fence) bool { return f.Block < g.Block || f.Block == g.Block && f.N < g.N }

// request of a contender. Hold and Block name what it is about, as in
// backend.Request.
type request struct {
	Verb         verb
	Flight       flight
	By, Inc      int8 // contender + 1, incarnation of its node
	Seq, Attempt int8
	Hold, Block  int8
	Turns        int8 // fences to be reserved
	Queue        bool
	Age          int8 // ticks since it was sent
	Owner, Count int8 // caller + 1, entries
	Turn         fence
	Delta        int8 // of the entries, where a caller waits for the answer
	A            answer
}

type answer struct {
	Kind              kind
	Hold, Block, Wait int8
	Turns             int8 // fences in Block
	Others            bool
	Provisional       bool
	New               bool // granted: not the hold that the request named
}

// mail is the messages on their way to a place. Two of a kind do what one does.
type mail struct {
	Granted int8 // fence of the hold, if that is not over
	Late    bool // a grant message about a hold that is over
	Others  bool
	Watch   bool
	Free    bool
}
