package journal

import "time"

// Opened: a session was opened, and its token is about to be told.
func (j *Journal) Opened(s Session) { j.write(&record{Op: opOpened, Session: &s}, nil) }

// Closed: the session has ended.
func (j *Journal) Closed(id string) { j.write(&record{Op: opClosed, ID: id}, nil) }

// Shown: the holds of the session belong to that process, for people.
func (j *Journal) Shown(id string, p Peer) { j.write(&record{Op: opShown, ID: id, Shown: &p}, nil) }

// Away: the connections of the session are gone, and have until then to come back, on
// CLOCK_BOOTTIME; 0: one has.
func (j *Journal) Away(id string, until time.Duration) {
	j.write(&record{Op: opAway, ID: id, Number: int64(until)}, nil)
}

// Spent: the one lock of the session was released; it only repeats answers.
func (j *Journal) Spent(id string) { j.write(&record{Op: opSpent, ID: id}, nil) }

// Answered: a request with a key is about to be answered.
func (j *Journal) Answered(id string, a Answer) { j.write(answered(id, &a), nil) }

// Unanswered: what was written of the answer to a request was not told.
func (j *Journal) Unanswered(id, key string) {
	j.write(answered(id, &Answer{Key: key, Undone: true}), nil)
}

// Wants: the store is about to be asked for the name.
func (j *Journal) Wants(k Key) { j.write(&record{Op: opWants, Name: k.Name, Slot: k.Slot}, nil) }

// Idle: nothing is in the store for this place.
func (j *Journal) Idle(k Key) { j.write(&record{Op: opIdle, Name: k.Name, Slot: k.Slot}, nil) }

// Told: a turn is about to be told, in answer to a request with a key or not (nil).
func (j *Journal) Told(k Key, t Turn, a *Answer) {
	j.write(&record{Op: opTold, Name: k.Name, Slot: k.Slot, Turn: &t}, answered(t.Session, a))
}

// Released: the turn of the session is over, which is about to be told.
func (j *Journal) Released(k Key, session string, a *Answer) {
	j.write(&record{Op: opEnded, Name: k.Name, Slot: k.Slot}, answered(session, a))
}

// Lost: likewise, by a loss. The session is to be told when it asks.
func (j *Journal) Lost(k Key, session string, l Lost) {
	j.write(&record{Op: opEnded, Name: k.Name, Slot: k.Slot}, &record{Op: opLost, ID: session, Lost: &l})
}

// Kept: the turn was released, and its name is kept until Turn.KeepUntil.
func (j *Journal) Kept(k Key, session, owner string, a *Answer) {
	j.write(&record{Op: opKept, Name: k.Name, Slot: k.Slot, Owner: owner}, answered(session, a))
}

// Free: a name that was kept is not any more.
func (j *Journal) Free(k Key) { j.write(&record{Op: opEnded, Name: k.Name, Slot: k.Slot}, nil) }

// Deadline of the present turn, on CLOCK_BOOTTIME, is about to count.
func (j *Journal) Deadline(k Key, at time.Duration) {
	j.write(&record{Op: opDeadline, Name: k.Name, Slot: k.Slot, Number: int64(at)}, nil)
}

// Entries of the present turn are about to be told.
func (j *Journal) Entries(k Key, session string, n int, a *Answer) {
	j.write(&record{Op: opEntries, Name: k.Name, Slot: k.Slot, Number: int64(n)}, answered(session, a))
}

// answered is nil if there is no answer.
func answered(session string, a *Answer) *record {
	switch {
	case a == nil:
		return nil
	case a.Undone:
		return &record{Op: opUnanswered, ID: session, Answer: a}
	}
	return &record{Op: opAnswered, ID: session, Answer: a}
}
