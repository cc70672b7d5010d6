package model

// rankFences renumbers blocks of fences 1, 2, 3... in their order.
func (m *model) rankFences(s *state) {
	var used uint64
	s.blocks(func(b *int8) {
		if *b > 0 {
			used |= 1 << uint(*b)
		}
	})
	last := s.Last.Block
	if used&(1<<uint(last)) == 0 {
		s.Last.N = 0 // nobody can give a fence of that block any more
		if used&(1<<uint(last)-1) == 0 {
			s.Last.Block, last = 0, 0 // all that can still be given is newer
		}
	}
	used |= 1 << uint(last)
	var rank [64]int8
	k := int8(0)
	for b := 1; b < 64; b++ {
		if used&(1<<uint(b)) != 0 {
			k++
			rank[b] = k
		}
	}
	s.blocks(func(b *int8) {
		if *b > 0 {
			*b = rank[*b]
		}
	})
	s.Last.Block = rank[last]
}

// blocks visits every place where a fence is remembered, but for Last.
func (s *state) blocks(f func(*int8)) {
	f(&s.H.Fence)
	f(&s.H.Block)
	f(&s.H.Turn.Block)
	f(&s.Counter)
	s.Late.blocks(f)
	for i := range s.P {
		p := &s.P[i]
		f(&p.Turn.Block)
		f(&p.Hold)
		f(&p.Block)
		f(&p.Ahead)
		f(&p.Hint)
		f(&p.Mail.Granted)
		f(&p.J.Hold)
		f(&p.J.Turn.Block)
		p.Req.blocks(f)
		p.Renew.blocks(f)
	}
	for k := range s.Notes {
		s.Notes[k].blocks(f)
	}
}

func (r *request) blocks(f func(*int8)) {
	if r.Verb == none {
		return
	}
	f(&r.Hold)
	f(&r.Block)
	f(&r.Turn.Block)
	f(&r.A.Hold)
	f(&r.A.Block)
}

// newBlock is the store's fence counter, with its clock as floor: larger than any
// fence ever given.
func (m *model) newBlock(s *state) int8 {
	if !m.ClockFloor {
		s.Counter++
		return s.Counter
	}
	top := s.Last.Block
	s.blocks(func(b *int8) { top = max(top, *b) })
	return top + 1
}

// rankNumbers renumbers the requests of contender i 1, 2, 3... in their order.
func (s *state) rankNumbers(i int8) {
	var used uint64
	s.numbers(i, func(q *int8) { used |= 1 << uint(*q) })
	var rank [64]int8
	k := int8(0)
	for q := 1; q < 64; q++ {
		if used&(1<<uint(q)) != 0 {
			k++
			rank[q] = k
		}
	}
	s.numbers(i, func(q *int8) { *q = rank[*q] })
}

// numbers visits every place where a number of a request of contender i is
// remembered.
func (s *state) numbers(i int8, f func(*int8)) {
	f(&s.Floor[i])
	if s.H.By == i+1 {
		f(&s.H.Seq)
		f(&s.H.Described)
	}
	for k := range s.Q {
		if s.Q[k].By == i+1 {
			f(&s.Q[k].Seq)
		}
	}
	if s.Late.By == i+1 {
		f(&s.Late.Seq)
		f(&s.Late.Attempt)
	}
	for k := range s.Notes {
		if s.Notes[k].By == i+1 {
			f(&s.Notes[k].Seq)
		}
	}
	p := &s.P[i]
	f(&p.Attempt)
	f(&p.Req.Seq)
	f(&p.Req.Attempt)
}

// newSeq is larger than every number of contender i before.
func (s *state) newSeq(i int8) int8 {
	top := int8(0)
	s.numbers(i, func(q *int8) { top = max(top, *q) })
	return top + 1
}
