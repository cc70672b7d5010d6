package model

// Sizes of the largest instance.
const (
	maxNodes  = 3
	maxPlaces = 4
	callers   = 2 // of one place
	maxNotes  = 3 // descriptions under way
)

// window is how long a provisional hold lasts, in ticks.
const window = 1

// foreign is hold.By of a holder outside lockgw.
const foreign int8 = maxPlaces + 1

// past stands, where a request or a place names a hold, for every hold that is
// over: none of them comes back, so they need not be told apart.
const past int8 = -1

// phase of a place, as in package session.
type phase int8

const (
	idle phase = iota
	queued
	holding
	releasing
	reclaiming // after a restart
)

// client is what a caller believes.
type client int8

const (
	away    client = iota
	waits          // its acquire is with the gateway
	holds          // was told; has not released, was not told that it lost
	retries        // its gateway died under its acquire, and it will repeat that
	dead           // gone; its gateway has still to notice
)

// hold is the lock in the store.
type hold struct {
	By, Inc      int8 // contender + 1, 0: free
	Seq          int8
	Fence, Block int8 // first block, which names the hold, and newest
	Left         int8 // ticks
	Provisional  bool
	Turns        int8 // fences in Block
	Owner, Count int8
	Turn         fence
	Described    int8 // newest Seq of a description
}

// entry of the store's queue.
type entry struct{ By, Inc, Seq int8 }

// journal is what a restarted process reads.
type journal struct {
	Want bool // an acquire may have been sent
	Hold int8
	Turn fence
	Cur  int8
}

// place is where a node, or one waiter of it, stands with the store.
type place struct {
	Phase    phase
	Queue    [callers]int8 // caller + 1
	Cur      int8          // caller + 1 whose turn it is
	Told     bool
	Turn     fence // of Cur, or of the last one
	Hold     int8
	Block    int8 // of the present turns
	Next     int8 // its next fence
	Rest     int8 // fences left in it
	Ahead    int8 // the block after it, if that is reserved
	More     int8 // fences in that
	Deadline int8 // ticks; as told to its callers
	Others   int8 // 1: another node is known to wait; 2: for longer than max_turn_time
	Attempt  int8
	Hint     int8
	Again    int8 // ticks until it asks again
	Watch    int8 // ticks until it looks after the name it passed on, + 1
	Watching bool
	Nudge    int8 // a message said when to ask again, in ticks + 1, while an answer was under way
	Crowded  bool // likewise, that another node waits
	Count    int8
	Vague    bool    // the entries in the store are not known
	Lazy     bool    // the store has to be told of the turn
	Req      request // the numbered one, or a confirm
	Renew    request
	RenewOld bool // Renew is of a hold that is over here
	Mail     mail
	Client   [callers]client
	Ops      [callers]int8 // acquires left
	J        journal
}

// node is a gateway process.
type node struct {
	Up   int8 // 0: dead, 1: runs, 2: stopped (SIGSTOP)
	Inc  int8
	Deaf bool // its subscription is broken, and the store knows
}

// state of everything.
type state struct {
	H       hold
	Q       [maxPlaces]entry
	Suspect [maxNodes]bool
	Floor   [maxPlaces]int8 // newest Seq that the store has seen of a contender
	Inc     [maxNodes]int8  // newest incarnation
	Guard   int8            // ticks for which nobody is granted the name
	Counter int8            // newest block, if the store's clock is no floor
	N       [maxNodes]node
	P       [maxPlaces]place
	Notes   [maxNotes]request
	Late    request // a duplicate that is still under way, or what nobody waits for
	Last    fence   // newest fence told
	Bypass  int8    // turns given while another node waited
	Faults  Faults
	Broken  Property
}
