package journal

import "time"

// Opened: a session was opened, and its token is about to be told.
func (j *Journal) Opened(s Session) { j.write(record{Op: opOpened, Session: &s}) }

// Closed: the session has ended.
func (j *Journal) Closed(id string) { j.write(record{Op: opClosed, ID: id}) }

// Spent: the one lock of the session was released; it only repeats answers.
func (j *Journal) Spent(id string) { j.write(record{Op: opSpent, ID: id}) }

// Answered: a request with a key is about to be answered.
func (j *Journal) Answered(id string, a Answer) { j.write(record{Op: opAnswered, ID: id, Answer: &a}) }

// Unanswered: what was written of the answer to a request was not told.
func (j *Journal) Unanswered(id, key string) {
	j.write(record{Op: opUnanswered, ID: id, Answer: &Answer{Key: key}})
}

// Wants: the store is about to be asked for the name.
func (j *Journal) Wants(k Key) { j.write(k.record(opWants)) }

// Idle: nothing is in the store for this place.
func (j *Journal) Idle(k Key) { j.write(k.record(opIdle)) }

// Told: a turn is about to be told, in answer to a request with a key or not (nil).
func (j *Journal) Told(k Key, t Turn, a *Answer) {
	r := k.record(opTold)
	r.Turn = &t
	j.with(r, t.Session, a)
}

// Released: the turn of the session is over, which is about to be told.
func (j *Journal) Released(k Key, session string, a *Answer) { j.with(k.record(opEnded), session, a) }

// Lost: likewise, by a loss. The session is to be told when it asks.
func (j *Journal) Lost(k Key, session string, l Lost) {
	j.write(k.record(opEnded), record{Op: opLost, ID: session, Lost: &l})
}

// Kept: the turn was released, and its name is kept until Turn.KeepUntil.
func (j *Journal) Kept(k Key, session, owner string, a *Answer) {
	r := k.record(opKept)
	r.Owner = owner
	j.with(r, session, a)
}

// Free: a name that was kept is not any more.
func (j *Journal) Free(k Key) { j.write(k.record(opEnded)) }

// Deadline of the present turn, on CLOCK_BOOTTIME, is about to count.
func (j *Journal) Deadline(k Key, at time.Duration) {
	r := k.record(opDeadline)
	r.Number = int64(at)
	j.write(r)
}

// Entries of the present turn are about to be told.
func (j *Journal) Entries(k Key, session string, n int, a *Answer) {
	r := k.record(opEntries)
	r.Number = int64(n)
	j.with(r, session, a)
}

func (k Key) record(o op) record { return record{Op: o, Name: k.Name, Slot: k.Slot} }

func (j *Journal) with(r record, session string, a *Answer) {
	if a == nil {
		j.write(r)
		return
	}
	j.write(r, record{Op: opAnswered, ID: session, Answer: a})
}
