package history

import (
	"bytes"
	"time"

	"github.com/lockgw/lockgw/session"
)

const (
	// window is the time for which attempts without lines of their own are counted in one
	// line.
	window = time.Minute
	// linesPerWindow is how many lines one lock gets in a window, but for the last ones of
	// attempts that have a line already.
	linesPerWindow = 120
	// maxWindows and maxOpen bound memory: what exceeds them is dropped.
	maxWindows = 20_000
	maxOpen    = 200_000
	// lineSize is about how many bytes one attempt takes in a file.
	lineSize = 300
	// pieceSize is about how many bytes are written at once.
	pieceSize = 64 << 10
	// atOnce is how many uneventful attempts get lines at once after a time without any.
	atOnce = 2000
)

// key of an attempt that goes on: an owner waits for a name only once at a time.
type key struct{ lock, owner string }

// tracker puts steps together to attempts, and makes lines of attempts.
type tracker struct {
	open    map[key]*ongoing
	young   []beginning // attempts for which a line is due if they are open then, the earliest first
	began   uint64      // attempts so far
	windows map[string]*counted
	rolled  time.Time

	// room is how many lines about uneventful attempts may be written now. It grows at a rate
	// at which such lines fill half of the space in the time that history is kept.
	room     float64
	perSec   float64
	filledAt time.Time

	// out is what is to be written. It is handed over by full whenever it has grown to
	// pieceSize, so that many lines at once, as each minute brings them, are never in memory
	// together.
	out  bytes.Buffer
	n    int // lines in out
	full func()

	dropped uint64 // attempts at locks beyond maxWindows
}

// beginning names one of the attempts of an owner at a lock: one who comes again and again begins many
// in the time after which a line is due.
type beginning struct {
	key
	n uint64
}

// ongoing is an attempt that is not over, as far as is known.
type ongoing struct {
	Attempt
	n     uint64
	told  bool // it has a line, which has to be replaced by one that says how it ended
	stale bool // it has come further than that line says
}

// counted is what was counted of one lock in one window.
type counted struct {
	from  time.Time
	lines int
	more  Totals
}

// newTracker is without attempts. full has to take the lines and write them.
func newTracker(cfg Config, full func()) *tracker {
	return &tracker{
		open: map[key]*ongoing{}, windows: map[string]*counted{}, full: full,
		room: atOnce, perSec: float64(cfg.MaxSize) / 2 / lineSize / cfg.Keep.Seconds(),
	}
}

// lines hands over the lines made since the last call, and how many they are. The bytes are
// valid until the next one is made.
func (t *tracker) lines() ([]byte, int) {
	out, n := t.out.Bytes(), t.n
	t.out.Reset()
	t.n = 0
	return out, n
}

func (t *tracker) put(l line) {
	if l.write(&t.out) != nil {
		return // no field can fail
	}
	t.n++
	if t.out.Len() >= pieceSize {
		t.full()
	}
}

func (t *tracker) step(s *session.Step) {
	if s.Kind == session.StepSeen {
		if w := t.window(s.Lock, s.Time); w != nil && w.lines < linesPerWindow {
			w.lines++
			t.put(line{Kind: kindSeen, Lock: s.Lock, Who: whoOf(&s.Who, true), From: short(s.Time)})
		}
		return
	}
	k := key{s.Lock, string(s.Who.Owner)}
	a := t.open[k]
	another := a != nil && !a.Asked.IsZero() && s.Asked.After(a.Asked) // a refusal tells of a moment before the wait
	if refused := s.Kind == session.StepRefused; refused && a != nil && (another || a.Outcome == Holding) {
		once := &ongoing{} // as of a re-entry: the first one goes on
		once.add(s)
		t.over(once)
		return
	}
	if another { // the end of the first one was dropped
		delete(t.open, k)
	}
	if a == nil || another {
		a = &ongoing{told: s.Kind == session.StepResumed} // by the process before
	}
	a.add(s)
	switch s.Kind {
	case session.StepWaits, session.StepGranted, session.StepResumed:
		t.goesOn(k, a)
	default:
		delete(t.open, k)
		t.over(a)
	}
}

// goesOn notes that a has begun, or has come further: it gets a line if it is open for long.
func (t *tracker) goesOn(k key, a *ongoing) {
	switch known := t.open[k] == a; {
	case known && a.told && !a.stale:
		a.stale = true
	case known || len(t.open) >= maxOpen:
		return
	default:
		t.began++
		a.n = t.began
		t.open[k] = a
	}
	t.young = append(t.young, beginning{k, a.n})
}

// over writes an attempt that is over, or counts it.
func (t *tracker) over(a *ongoing) {
	w := t.window(a.Lock, a.Ended)
	switch {
	case a.told:
		t.put(a.line())
	case w == nil: // beyond maxWindows
		t.dropped++
	case w.lines < linesPerWindow && (a.eventful() || t.spend(a.Ended)):
		w.lines++
		t.put(a.line())
	default:
		w.more.add(&a.Attempt, a.Ended)
	}
}

// spend takes room for one line about an uneventful attempt; false if there is none.
func (t *tracker) spend(now time.Time) bool {
	if !t.filledAt.IsZero() {
		t.room = min(atOnce, t.room+t.perSec*max(0, now.Sub(t.filledAt).Seconds()))
	}
	t.filledAt = now
	if t.room < 1 {
		return false
	}
	t.room--
	return true
}

func (t *tracker) window(lock string, now time.Time) *counted {
	w := t.windows[lock]
	if w == nil && len(t.windows) < maxWindows {
		w = &counted{from: now}
		t.windows[lock] = w
	}
	return w
}

// isYoung: no line is due yet. What lies ahead is of a process before this one, and the clock was
// set back since.
func (a *ongoing) isYoung(now time.Time) bool {
	age := now.Sub(a.last())
	return 0 <= age && age < openAfter
}

// tick makes the lines that are due.
func (t *tracker) tick(now time.Time) {
	n := 0
	for _, b := range t.young {
		a := t.open[b.key]
		open := a != nil && a.n == b.n
		if open && a.isYoung(now) {
			break
		}
		if n++; open && (!a.told || a.stale) {
			a.told, a.stale = true, false
			t.put(a.line())
		}
	}
	t.young = t.young[n:]
	switch {
	case t.rolled.IsZero(): // the first window has just begun
		t.rolled = now
	case now.Sub(t.rolled) >= window:
		t.roll(now)
	}
}

// roll makes the lines of the counts, and begins a new window.
func (t *tracker) roll(now time.Time) {
	t.rolled = now
	for lock, w := range t.windows {
		if w.more.Attempts > 0 {
			t.put(line{Kind: kindMore, Lock: lock, From: short(w.from), To: short(now), Totals: &w.more})
		}
	}
	clear(t.windows)
}

// flush makes lines of everything: the process ends.
func (t *tracker) flush(now time.Time) {
	for _, b := range t.young {
		if a := t.open[b.key]; a != nil && a.n == b.n {
			t.put(a.line())
		}
	}
	t.young = nil
	t.roll(now)
}

// openNow returns the attempts that are not over.
func (t *tracker) openNow() []Attempt {
	out := make([]Attempt, 0, len(t.open))
	for _, a := range t.open {
		out = append(out, a.Attempt)
	}
	return out
}
