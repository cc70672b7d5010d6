package top

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// topSource is where the locks come from.
type topSource interface {
	locks(ctx context.Context, q client.LockQuery) (client.LockPage, error)
	breakLock(ctx context.Context, st client.Status) error
}

// screen is what is on the screen and what the keys do to it.
type screen struct {
	ctx    context.Context // of the command
	source topSource
	every  time.Duration

	all    []client.Status
	page   client.LockPage // they are all of it, or the first
	at     time.Time       // when they were asked for; zero: not yet
	err    error           // of the last time
	round  int             // the look that is waited for; the answer to an earlier one is not
	order  order
	prefix string
	typing bool

	selected string         // name
	asked    *client.Status // to break it
	note     string         // what became of the last key
	width    int
	height   int
}

func newScreen(ctx context.Context, source topSource, every time.Duration, prefix string) *screen {
	return &screen{ctx: ctx, source: source, every: every, order: orders[0], prefix: prefix, width: 80, height: 24}
}

var _ tea.Model = (*screen)(nil)

// What the screen is told besides keys.
type (
	look      struct{ round int } // it is time
	topAnswer struct {
		round int
		page  client.LockPage
		at    time.Time
		took  time.Duration
		err   error
	}
	topBroken struct {
		name  string
		fence uint64
		err   error
	}
)

// Init implements tea.Model.
func (s *screen) Init() tea.Cmd { return s.look() }

// look asks again, at once.
func (s *screen) look() tea.Cmd {
	s.round++
	round, q := s.round, s.order.query
	q.Prefix, q.Limit = s.prefix, cli.MaxLocks
	return func() tea.Msg {
		at := time.Now()
		ctx, cancel := context.WithTimeout(s.ctx, cli.DialTimeout)
		defer cancel()
		page, err := s.source.locks(ctx, q)
		return topAnswer{round, page, at, time.Since(at), err}
	}
}

// Update implements tea.Model.
func (s *screen) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	switch m := m.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = m.Width, m.Height
	case look:
		if m.round == s.round {
			return s, s.look()
		}
	case topAnswer:
		return s, s.answered(m)
	case topBroken:
		s.note = fmt.Sprintf("%s is taken from the holder with fence %d", m.name, m.fence)
		if m.err != nil {
			s.note = fmt.Sprintf("%s was not broken: %v", m.name, m.err)
		}
		return s, s.look()
	case tea.KeyPressMsg:
		return s, s.key(m)
	}
	return s, nil
}

// answered shows the answer; without one it keeps what is on the screen. The next pause is at
// least four times as long as the answer took, so that a slow store is not asked all the time.
func (s *screen) answered(a topAnswer) tea.Cmd {
	if a.round != s.round {
		return nil
	}
	if s.err = a.err; a.err == nil {
		s.all, s.page, s.at = a.page.Items, a.page, a.at
	}
	return tea.Tick(max(s.every, 4*a.took), func(time.Time) tea.Msg { return look{a.round} })
}

func (s *screen) key(k tea.KeyPressMsg) tea.Cmd {
	s.note = ""
	switch {
	case k.String() == "ctrl+c":
		return tea.Quit
	case s.asked != nil:
		return s.confirm(k)
	case s.typing:
		return s.typePrefix(k)
	}
	for _, o := range orders {
		if o.key == k.String() {
			s.order = o
			return s.look()
		}
	}
	switch k.String() {
	case "q":
		return tea.Quit
	case "/":
		s.typing = true
	case "up", "k":
		s.move(-1)
	case "down", "j":
		s.move(1)
	case "b":
		s.askToBreak()
	}
	return nil
}

func (s *screen) typePrefix(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "enter", "esc":
		s.typing = false
		return nil
	case "backspace":
		if r := []rune(s.prefix); len(r) > 0 {
			s.prefix = string(r[:len(r)-1])
		}
	default:
		if len(s.prefix)+len(k.Text) > session.MaxName {
			return nil
		}
		s.prefix += k.Text
	}
	return s.look()
}

// at is the place of the selected lock, that of the first if it is gone.
func (s *screen) place() int {
	return max(0, slices.IndexFunc(s.all, func(st client.Status) bool { return st.Name == s.selected }))
}

func (s *screen) move(by int) {
	if len(s.all) > 0 {
		s.selected = s.all[min(max(0, s.place()+by), len(s.all)-1)].Name
	}
}

// askToBreak remembers the hold, so that a later hold is not broken in its place.
func (s *screen) askToBreak() {
	if len(s.all) == 0 {
		return
	}
	st := s.all[s.place()]
	switch {
	case st.State != client.Held:
		s.note = st.Name + " is not held"
	case st.Fence == 0:
		s.note = st.Name + " has no fence to break it by"
	default:
		s.asked = &st
		if s.question() == "" {
			s.asked, s.note = nil, "too narrow to ask"
		}
	}
}

func (s *screen) confirm(k tea.KeyPressMsg) tea.Cmd {
	st, seen := *s.asked, s.question() != ""
	s.asked = nil
	if k.String() != "y" || !seen {
		s.note = st.Name + " is left as it is"
		return nil
	}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(s.ctx, cli.DialTimeout)
		defer cancel()
		return topBroken{st.Name, st.Fence, s.source.breakLock(ctx, st)}
	}
}
