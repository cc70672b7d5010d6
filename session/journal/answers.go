package journal

import (
	"bytes"
	"encoding/binary"
	"iter"
	"maps"
	"math"
	"slices"
	"time"
)

const (
	// Remember is how long an answer is kept.
	Remember = 10 * time.Minute
	// AtLeast is how long it is kept even if there are many.
	AtLeast = time.Minute
	// MostAnswers is how many of them are kept in any case, of all users together.
	MostAnswers = 1 << 17
	// spare is how many more there may be before some are forgotten, which takes a look at all.
	spare = MostAnswers / 8
)

// answerRef is where an answer is kept, if it still is.
type answerRef struct {
	c   *Session
	key string
	at  time.Duration
}

// answer is what is kept, unless that was forgotten or given anew.
func (a answerRef) answer() (Answer, bool) {
	x, ok := a.c.Answers[a.key]
	return x, ok && x.Up == a.at
}

func (a answerRef) kept() bool {
	_, ok := a.answer()
	return ok
}

func (a answerRef) drop() {
	if a.kept() {
		delete(a.c.Answers, a.key)
	}
}

// answers that are kept, in the order in which they were given; they come after the sessions.
func (s *State) answers() iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for _, ref := range s.recent {
			if a, ok := ref.answer(); ok && s.Sessions[ref.c.ID] == ref.c && !yield(answered(ref.c.ID, &a)) {
				return
			}
		}
	}
}

// answered: a was given in the session c.
func (s *State) answered(c *Session, a *Answer) {
	s.recent = append(s.recent, answerRef{c, a.Key, a.Up})
	s.forgetOld(0)
	if len(s.recent) > MostAnswers+spare {
		s.forgetAnswers(MostAnswers)
	}
}

// forgetAnswers keeps at most so many answers. If more than that are so new that they have to be
// kept, it is those who have the most who lose their oldest: nobody drives out what others were
// told.
func (s *State) forgetAnswers(most int) {
	s.recent = slices.DeleteFunc(s.recent, func(a answerRef) bool { return a.c.Answers == nil }) // it has ended
	for n := len(s.recent); len(s.recent) > most && s.recent[0].at < s.recent[n-1].at-AtLeast; n-- {
		s.forgetOldest()
	}
	if len(s.recent) <= most {
		return
	}
	of := map[string]int{}
	s.recent = slices.DeleteFunc(s.recent, func(a answerRef) bool {
		if !a.kept() {
			return true
		}
		of[a.c.User]++
		return false
	})
	if each := share(slices.Collect(maps.Values(of)), most); each > 0 {
		s.recent = slices.DeleteFunc(s.recent, func(a answerRef) bool {
			over := of[a.c.User] > each
			if over {
				of[a.c.User]--
				a.drop()
			}
			return over
		})
	}
	for len(s.recent) > most {
		s.forgetOldest()
	}
}

// share is how much each may keep of what it has, so that all keep no more than most.
func share(of []int, most int) int {
	slices.Sort(of)
	for i, n := range of {
		if each := most / (len(of) - i); n > each {
			return each
		}
		most -= n
	}
	return math.MaxInt
}

func (s *State) forgetOldest() {
	s.recent[0].drop()
	s.recent[0] = answerRef{} // what it points to is not kept by the array
	s.recent = s.recent[1:]
}

// forgetOld drops the answers of which nobody asks any more. The newest one is of that long ago.
// One of an earlier version, of which only that is not known, stays until it is given anew.
func (s *State) forgetOld(ago time.Duration) {
	if n := len(s.recent); n > 0 {
		since := s.recent[n-1].at + ago - Remember
		for len(s.recent) > 0 && s.recent[0].at < since && (s.recent[0].at != 0 || !s.recent[0].kept()) {
			s.forgetOldest()
		}
	}
}

var answerMark = []byte(`{"o":"answer",`)

// oldAnswers is how many of the first answers of each session in b would be forgotten again while
// b is read. Reading them is a waste of time, because the locks of living clients wait meanwhile.
func oldAnswers(b []byte) map[string]int {
	old := map[string]int{}
	for len(b) > prefix && b[prefix] != 0 {
		size := int(binary.LittleEndian.Uint32(b))
		if size < 0 || len(b) < prefix+size {
			break
		}
		if who := answerOf(b[prefix : prefix+size]); who != nil {
			old[string(who)]++
		}
		b = b[prefix+size:]
	}
	for who := range old {
		old[who] -= MostAnswers
	}
	return old
}

// answerOf tells the sessions of answers from each other, in a record that is not decoded; nil: it
// is another one.
func answerOf(body []byte) []byte {
	rest, ok := bytes.CutPrefix(body, answerMark)
	if !ok {
		return nil
	}
	who, _, _ := bytes.Cut(rest, []byte(`,"a":`))
	return who
}
