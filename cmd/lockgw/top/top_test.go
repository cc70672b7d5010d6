package top

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// twoLocks is a source that holds two locks and writes down what was broken.
type twoLocks struct {
	err    error
	lacks  string
	broken []uint64
	asked  []string // prefixes
	sorts  []string
	next   string
}

func (s *twoLocks) locks(_ context.Context, q client.LockQuery) (client.LockPage, error) {
	s.asked = append(s.asked, q.Prefix)
	s.sorts = append(s.sorts, q.Sort+" "+q.Order)
	if s.err != nil {
		return client.LockPage{}, s.err
	}
	holder := func(pid int, held time.Duration) *client.Holder {
		return &client.Holder{Owner: "u:1", Node: "host-a", Process: client.Process{PID: pid}, Since: time.Now().Add(-held)}
	}
	items := map[rune]client.Status{
		'a': {Name: "a", State: client.Held, Holder: holder(2, time.Minute), Fence: 9, TTL: 10 * time.Second, Waiters: 3},
		'b': {Name: "b", State: client.Held, Holder: holder(1, time.Hour), Fence: 7, TTL: 20 * time.Second},
		'c': {Name: "c", State: client.Free, Waiters: 1},
	}
	page := client.LockPage{Locks: 5000, Held: 4990, Waiting: 4, AtLeast: s.lacks != "", Next: s.next, Incomplete: s.lacks}
	for _, name := range map[string]string{"name": "abc", "held": "bac", "lease": "abc", "waiters": "acb", "fence": "abc"}[q.Sort] {
		page.Items = append(page.Items, items[name])
	}
	return page, nil
}

func (s *twoLocks) breakLock(_ context.Context, st client.Status) error {
	s.broken = append(s.broken, st.Fence)
	return s.err
}

// screenOf is a screen that has looked once, and a way to type on it.
func screenOf(t *testing.T, source *twoLocks) (s *screen, typed func(keys ...string)) {
	t.Helper()
	s = newScreen(t.Context(), source, time.Hour, "")
	s.Update(s.Init()())
	return s, func(keys ...string) {
		for _, k := range keys {
			key := tea.KeyPressMsg{Text: k, Code: []rune(k)[0]}
			if code, ok := map[string]rune{"enter": tea.KeyEnter, "backspace": tea.KeyBackspace, "down": tea.KeyDown, "esc": tea.KeyEscape}[k]; ok {
				key = tea.KeyPressMsg{Code: code}
			}
			if _, do := s.Update(key); do != nil {
				if next := do(); next != nil {
					s.Update(next)
				}
			}
		}
	}
}

// names are the names of the table, from top to bottom, the selected one in <>.
func names(s *screen) string {
	var all []string
	for _, line := range s.lines(time.Now()) {
		selected := strings.HasPrefix(line, reverse)
		fields := strings.Fields(strings.TrimPrefix(line, reverse))
		if len(fields) < 7 || fields[1] != "held" && fields[1] != "free" {
			continue
		}
		if selected {
			fields[0] = "<" + fields[0] + ">"
		}
		all = append(all, fields[0])
	}
	return strings.Join(all, " ")
}

// What the gateway answers has what a store and other machines have said, and commands no terminal.
func TestTopIsPrintable(t *testing.T) {
	const bad = "a\x1b[2J\u202etxt\nb"
	source := &twoLocks{err: errors.New(bad)}
	s, _ := screenOf(t, source)
	for _, when := range []string{"before the first answer", "after it"} {
		head := strings.TrimSuffix(strings.TrimPrefix(s.lines(time.Now())[0], bold), plain)
		if strings.ContainsFunc(head, func(r rune) bool { return !unicode.IsPrint(r) }) || !strings.Contains(head, "a?[2J?txt?b") {
			t.Errorf("%s the head is %q, want the error in it, printable", when, head)
		}
		source.err = nil
		s.Update(s.look()())
		source.err = errors.New(bad)
		s.Update(s.look()())
	}
}

// Where more may wait than are known, the table says so, as ls does.
func TestTopMoreMayWait(t *testing.T) {
	s, _ := screenOf(t, &twoLocks{})
	s.all[0].MoreWait = true
	rows := s.table(time.Now())
	for i, want := range map[int]string{1: "3+", 3: "1"} {
		if fields := strings.Fields(rows[i]); fields[len(fields)-2] != want {
			t.Errorf("the row is %q, want %s that wait", rows[i], want)
		}
	}
}

func TestTopKeys(t *testing.T) {
	for _, tt := range []struct{ keys, want string }{
		{"", "<a> b c"}, {"h", "<b> a c"}, {"l", "<a> b c"}, {"w", "<a> c b"}, {"f", "<a> b c"}, {"h n", "<a> b c"},
		{"j", "a <b> c"}, {"j j j j", "a b <c>"}, {"k", "<a> b c"}, {"down w", "a c <b>"}, {"x ?", "<a> b c"},
	} {
		s, typed := screenOf(t, &twoLocks{})
		typed(strings.Fields(tt.keys)...)
		if got := names(s); got != tt.want {
			t.Errorf("after %q: %s, want %s", tt.keys, got, tt.want)
		}
	}
}

// A question is seen to its end, or there is none.
func TestTopBreakOnASmallScreen(t *testing.T) {
	for _, tt := range []struct {
		width, height int
		foot          string
	}{
		{60, 24, "Take a from host-a pid 2, ? Be sure that it is dead. y or n"},
		{40, 24, "Take a from host-a pid 2, fence? y or n"},
		{28, 24, "too narrow to ask"},
		{80, 5, "Take a from host-a pid 2, fence 9? Be sure that it is dead. y or n"},
		{80, 1, "Take a from host-a pid 2, fence 9? Be sure that it is dead. y or n"},
	} {
		source := &twoLocks{}
		s, typed := screenOf(t, source)
		s.Update(tea.WindowSizeMsg{Width: tt.width, Height: tt.height})
		typed("b")
		lines := s.lines(time.Now())
		if got := lines[len(lines)-1]; got != tt.foot || len(lines) > tt.height {
			t.Errorf("%d columns, %d lines: %d lines, the last one %q, want %q", tt.width, tt.height, len(lines), got, tt.foot)
		}
	}
	source := &twoLocks{}
	s, typed := screenOf(t, source)
	typed("b")
	s.Update(tea.WindowSizeMsg{Width: 20, Height: 24})
	if typed("y"); len(source.broken) > 0 {
		t.Error("broken by the answer to a question that was not to be seen")
	}
}

// What is broken is the hold that was asked about, and only after y.
func TestTopBreak(t *testing.T) {
	for _, tt := range []struct {
		keys   string
		err    error
		broken int
		foot   string
	}{
		{"b", nil, 0, "Take a from host-a pid 2, fence 9? Be sure that it is dead. y or n"},
		{"b n", nil, 0, "a is left as it is"},
		{"b esc", nil, 0, "a is left as it is"},
		{"b q", nil, 0, "a is left as it is"},
		{"j b y", nil, 1, "b is taken from the holder with fence 7"},
		{"b y", errors.New("NOAUTH only root"), 1, "a was not broken: NOAUTH only root"},
		{"j j b", nil, 0, "c is not held"},
	} {
		source := &twoLocks{}
		s, typed := screenOf(t, source)
		source.err = tt.err
		typed(strings.Fields(tt.keys)...)
		if got := s.foot(); got != tt.foot || len(source.broken) != tt.broken {
			t.Errorf("after %q: %q, broken %v; want %q, %d", tt.keys, got, source.broken, tt.foot, tt.broken)
		}
	}
}

func TestTopFilter(t *testing.T) {
	source := &twoLocks{}
	s, typed := screenOf(t, source)
	typed("/", "q", "b", "backspace", "enter")
	if got := source.asked[len(source.asked)-1]; got != "q" || s.typing {
		t.Errorf("asked for %q, typing %v; want the prefix q and no more typing", got, s.typing)
	}
	if got := s.summary(time.Now()); !strings.Contains(got, "names that begin with q") {
		t.Errorf("summary = %q, want the prefix in it", got)
	}
	typed("/")
	typed(strings.Split(strings.Repeat("x", 300), "")...)
	if len(s.prefix) != session.MaxName {
		t.Errorf("prefix of %d bytes, want no more than a name has", len(s.prefix))
	}
}

// What is counted and sorted is all there is, not what is shown of it.
func TestTopPart(t *testing.T) {
	source := &twoLocks{next: "more"}
	s, typed := screenOf(t, source)
	if got := s.summary(time.Now()); !strings.Contains(got, "lockgw: 4990 held, 4 waiting, by name, the first 3") {
		t.Errorf("summary = %q, want the counts of all, and how many are shown", got)
	}
	typed("w")
	if got := source.sorts[len(source.sorts)-1]; got != "waiters desc" || len(source.sorts) != 2 {
		t.Errorf("asked for %q, want that the gateway sorts by waiters", source.sorts)
	}
}

func TestTopIncomplete(t *testing.T) {
	s, _ := screenOf(t, &twoLocks{lacks: "1 of 3 masters is down"})
	if got := s.summary(time.Now()); !strings.Contains(got, "incomplete: 1 of 3 masters is down") || !strings.Contains(got, "at least 4990") {
		t.Errorf("summary = %q, want that names are missing", got)
	}
}

// Without an answer it shows what it knew, and says that.
func TestTopWithoutGateway(t *testing.T) {
	source := &twoLocks{}
	s, _ := screenOf(t, source)
	source.err = errors.New("no gateway")
	_, next := s.Update(look{s.round})
	s.Update(next())
	if got := s.summary(time.Now()); !strings.HasPrefix(got, "lockgw: as of ") || !strings.HasSuffix(got, " ago: no gateway") {
		t.Errorf("summary = %q, want of when it is and why", got)
	}
	if got := names(s); got != "<a> b c" {
		t.Errorf("table = %s, want what was known", got)
	}
}

// An answer that was overtaken by another question changes nothing.
func TestTopLateAnswer(t *testing.T) {
	s, _ := screenOf(t, &twoLocks{})
	late := s.look()()
	s.look()
	s.all = nil
	if s.Update(late); s.all != nil {
		t.Error("a late answer was shown, want it left out")
	}
}

// More locks than lines: the selected one is among those that are shown, and
// nothing is wider or higher than the terminal.
func TestTopSize(t *testing.T) {
	s, _ := screenOf(t, &twoLocks{})
	s.all = nil
	for i := range 100 {
		s.all = append(s.all, client.Status{Name: strings.Repeat("n", i+1), State: client.Held, Fence: 1})
	}
	for _, selected := range []int{0, 1, 50, 98, 99} {
		s.selected = s.all[selected].Name
		for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 20, Height: 7}, {Width: 1, Height: 1}, {}} {
			s.Update(size)
			lines := s.lines(time.Now())
			if len(lines) > max(size.Height, 6) {
				t.Errorf("%d lines on a terminal of %v", len(lines), size)
			}
			shown := false
			for _, line := range lines {
				text := strings.NewReplacer(bold, "", reverse, "", plain, "").Replace(line)
				if len(text) > size.Width {
					t.Errorf("%q is wider than %d", text, size.Width)
				}
				shown = shown || strings.HasPrefix(line, reverse)
			}
			if !shown {
				t.Errorf("selected %d on %v: not shown", selected, size)
			}
		}
	}
}

// A narrow terminal cuts the holders and leaves the fences whole.
func TestTopNarrow(t *testing.T) {
	s, _ := screenOf(t, &twoLocks{})
	for i := range s.all {
		s.all[i].Fence = 1795190824869777
		if h := s.all[i].Holder; h != nil {
			h.Command = strings.Repeat("x", 60)
		}
	}
	for _, width := range []int{140, 110, 90, 80} {
		s.width = width
		for _, row := range s.table(time.Now())[1:] {
			if got := cli.Cut(row, width); !strings.HasSuffix(got, "1795190824869777") {
				t.Errorf("%d columns: %q, want the whole fence", width, got)
			}
		}
	}
}
