package journal

import (
	"crypto/rand"
	"maps"
	"slices"

	"github.com/google/uuid"
)

// rename makes s that of a node which nobody has met.
func (s *State) rename() {
	s.Node, s.Secret = uuid.NewString(), make([]byte, 32)
	_, _ = rand.Read(s.Secret) // never fails, see its documentation
}

// outlive: the machine was started since, and no client is left. What the store
// may still have is known by the places.
func (s *State) outlive() {
	s.Sessions, s.recent, s.Until = map[string]*Session{}, nil, 0
	for _, p := range s.Places {
		p.Turn = nil
	}
}

func (s *State) clone() State {
	c := *s
	c.Secret, c.recent = slices.Clone(s.Secret), nil
	c.Sessions = make(map[string]*Session, len(s.Sessions))
	for id, x := range s.Sessions {
		y := *x
		y.Answers, y.Losses = maps.Clone(x.Answers), maps.Clone(x.Losses)
		c.Sessions[id] = &y
	}
	c.Places = make(map[Key]*Place, len(s.Places))
	for k, x := range s.Places {
		y := *x
		if x.Turn != nil {
			t := *x.Turn
			y.Turn = &t
		}
		c.Places[k] = &y
	}
	return c
}
