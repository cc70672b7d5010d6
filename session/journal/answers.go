package journal

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"
)

// MostAnswers is how many answers are kept, of all sessions together: the newest.
const MostAnswers = 1 << 17

// answerRef is where an answer is kept, if it still is.
type answerRef struct {
	c   *Session
	key string
	at  time.Time
}

// answer is what is kept, unless that was forgotten or given anew.
func (a answerRef) answer() (Answer, bool) {
	x, ok := a.c.Answers[a.key]
	return x, ok && x.At.Equal(a.at)
}

func (a answerRef) drop() {
	if _, ok := a.answer(); ok {
		delete(a.c.Answers, a.key)
	}
}

// forgetAnswers keeps the newest of the answers, at most so many.
func (s *State) forgetAnswers(most int) {
	for len(s.recent) > most {
		s.recent[0].drop()
		s.recent[0] = answerRef{} // what it points to is not kept by the array
		s.recent = s.recent[1:]
	}
}

// forgetOld drops the answers of which nobody asks any more.
func (s *State) forgetOld(now time.Time) {
	n, _ := slices.BinarySearchFunc(s.recent, now.Add(-Remember), func(a answerRef, t time.Time) int { return a.at.Compare(t) })
	s.forgetAnswers(len(s.recent) - n)
}

var answerMark = []byte(`{"o":"answer",`)

// oldAnswers is how many of the first answers in b would be forgotten again while b is read.
// Reading them is a waste of time, because the locks of living clients wait meanwhile.
func oldAnswers(b []byte) int {
	n := -MostAnswers
	for len(b) > prefix && b[prefix] != 0 {
		size := int(binary.LittleEndian.Uint32(b))
		if size < 0 || len(b) < prefix+size {
			break
		}
		if bytes.HasPrefix(b[prefix:], answerMark) {
			n++
		}
		b = b[prefix+size:]
	}
	return max(n, 0)
}
