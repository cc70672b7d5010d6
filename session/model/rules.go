package model

// Rules are what keeps the protocol right; each can be left out to see what it
// is for. The comments name the code that follows it.
type Rules struct {
	// Time
	FromSending bool // a deadline counts from the sending of the request (takeGrant, renewed)
	Look        bool // the deadline is looked at where a grant is told (place.tell)
	Final       bool // no answer revives a hold whose deadline has passed (place.late)
	AskAgain    bool // who waits asks again when the present hold should be over (place.again)
	AgainTakes  bool // and by an acquire, which can be answered by a grant, not by a promote

	// Hints
	Confirm bool // a message grants nothing, it only makes the node ask
	Keep    bool // a grant message is kept while an answer is under way (place.hinted)
	KeepAll bool // and so are all the other messages

	// Requests
	Floor       bool // the store refuses a request older than the newest it has seen (admit)
	Incarnation bool // and one of an older process
	Rearm       bool // a repeat sets the lease anew (lease)
	Drop        bool // a hold left over from an older request is dropped, not granted again (contend)
	ByFence     bool // renewals and releases are guarded by the fence of the hold
	CancelFrees bool // a cancel lets go of what was granted meanwhile
	Undo        bool // an acquire without an answer is undone when nobody wants it (stepIdle)
	GiveBack    bool // and so is a grant that nobody here wants
	Withdraw    bool // a release takes back what a late repeat of its attempt has left (withdraw)
	Suspects    bool // who let a provisional hold run out is picked last (promote)
	KeepPlace   bool // the head leaves the queue at confirm, not at the grant
	WatchNext   bool // who passed the name on, and the second in the queue, look after it
	ClockFloor  bool // fences begin above the store's clock (reserve)

	// Turns
	NoTurnAfter bool // once a release is sent, no turn is given under that hold
	StoreYields bool // at the end of a block the store looks whether another waits (extend)
	Budget      bool // no more fences are reserved at once than a block has (prefetch)
	Absolute    bool // the store is told the count of entries, not the change
	CountStays  bool // a repeat of a request that grants leaves the entries alone (lease)
	NotBeside   bool // a turn is not described while its entries are written (keepUp)
	Numbered    bool // descriptions are numbered, and an older one is refused (Describe)

	// Restarts
	Intent         bool // is written before the acquire is sent
	TurnRecord     bool // is written before the turn is told
	EndRecord      bool // is written before the end of a turn is told
	DeadlineRecord bool // is written before a renewal counts
	Quarantine     bool // (planned) a store that may have forgotten grants nothing for a lease
}

// Sound is all rules.
func Sound() Rules {
	return Rules{
		FromSending: true, Look: true, Final: true, AskAgain: true, AgainTakes: true,
		Confirm: true, Keep: true, KeepAll: true,
		Floor: true, Incarnation: true, Rearm: true, Drop: true, ByFence: true, CancelFrees: true, Undo: true, GiveBack: true,
		Withdraw: true, Suspects: true, KeepPlace: true, WatchNext: true,
		NoTurnAfter: true, StoreYields: true, Budget: true, Absolute: true, CountStays: true, NotBeside: true, Numbered: true,
		Intent: true, TurnRecord: true, EndRecord: true, DeadlineRecord: true, Quarantine: true, ClockFloor: true,
	}
}
