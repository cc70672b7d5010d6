package journal

import "strconv"

// Together is where the turn stands of one who has the name together with others.
func Together(name string, fence uint64) Key {
	return Key{Name: name, Slot: strconv.FormatUint(fence, 10)}
}

// forgetEnded drops the turns of sessions that have ended, of which that process did not come to
// write that they are over: nobody else would.
func (s *State) forgetEnded() {
	for _, p := range s.Places {
		if t := p.Turn; t != nil && !t.Kept && s.Sessions[t.Session] == nil {
			p.Turn = nil
		}
	}
}

// modernize has s say what it says in the words of this version. In those before 0.1.0 each who
// shared a name, or had a permit of it, had a hold of its own in the store, and a slot that was a
// serial number: here they have one hold together, and the slot is the fence. So they are taken
// together. So is what is left of a name in a slot that nobody has.
func (s *State) modernize() {
	first := map[string]uint64{} // hold of such a name
	for k, p := range s.Places {
		if k.Slot != "" && (p.Turn == nil || k != Together(k.Name, p.Turn.Fence)) {
			first[k.Name] = 0
		}
	}
	for k, p := range s.Places {
		if was, ok := first[k.Name]; ok && p.Turn != nil && (was == 0 || p.Turn.Hold < was) {
			first[k.Name] = p.Turn.Hold
		}
	}
	out := map[Key]*Place{}
	for k, p := range s.Places {
		hold, former := first[k.Name]
		if !former || k.Slot == "" {
			out[k] = p
			continue
		}
		if whole := (Key{Name: k.Name}); out[whole] == nil && s.Places[whole] == nil {
			out[whole] = &Place{}
		}
		if p.Turn != nil {
			p.Turn.Hold = hold
			out[Together(k.Name, p.Turn.Fence)] = p
		}
	}
	s.Places = out
}
