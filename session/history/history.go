// Package history keeps on disk what happened to the callers of a gateway, to answer
// why a job was late: when it asked for a lock, behind whom it waited, how long it
// held it and how that ended.
//
// It must never cost a caller anything. Record puts a step into a buffer; one
// goroutine makes attempts of the steps and writes them. What does not fit, or cannot
// be written, is dropped and counted.
//
// The files are JSON lines in segments, the oldest of which go when there are too many
// bytes or they are too old. An attempt that says little, because nobody waited and it
// was soon over, has a line of its own only as long as such lines leave room for the
// time that history is kept; the others are counted, in a line for each minute.
package history

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// Config of a History. Dir is required.
type Config struct {
	Dir     string
	Keep    time.Duration // how old it may be; 7 days
	MaxSize int64         // of all files, in bytes; 64 MiB
	Log     *slog.Logger
}

const (
	// writeEvery is how long a step may stay in memory.
	writeEvery = 200 * time.Millisecond
	// maxBuffered is how many steps may come in that time.
	maxBuffered = 1 << 15
	// openAfter is how long an attempt may go on before a line is written about it. A short
	// attempt has one line, and a long one is on disk if the process dies.
	openAfter = 2 * time.Second
	// sayEvery is how often the log says that steps are dropped.
	sayEvery = time.Minute
)

// History is open until Close.
type History struct {
	cfg   Config
	wake  chan struct{} // of capacity 1
	ask   chan chan<- view
	stop  chan struct{}
	done  chan struct{}
	scans chan struct{} // of capacity 1: one reads the files at a time

	mu      sync.Mutex // guards the fields below; nothing is locked under it
	steps   []session.Step
	spare   []session.Step
	dropped uint64
	broken  error // why nothing is written at present
	closed  bool
}

var _ session.Historian = (*History)(nil)

// Open begins to write in cfg.Dir, which only one process may do at a time. An error
// means that the directory cannot be made.
func Open(cfg Config) (*History, error) {
	if cfg.Keep == 0 {
		cfg.Keep = 7 * 24 * time.Hour
	}
	if cfg.MaxSize == 0 {
		cfg.MaxSize = 64 << 20
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	files, err := openFiles(cfg)
	if err != nil {
		return nil, err
	}
	h := &History{
		cfg: cfg, wake: make(chan struct{}, 1), ask: make(chan chan<- view), scans: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	w := &writer{h: h, files: files}
	w.track = newTracker(cfg, w.put)
	go w.run() // until Close
	return h, nil
}

// Close writes what is left.
func (h *History) Close() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.closed = true
	h.mu.Unlock()
	close(h.stop)
	<-h.done
}

// Record implements session.Historian.
func (h *History) Record(s session.Step) {
	h.mu.Lock()
	if len(h.steps) >= maxBuffered || h.closed {
		h.dropped++
		h.mu.Unlock()
		return
	}
	first := len(h.steps) == 0
	h.steps = append(h.steps, s)
	h.mu.Unlock()
	if first {
		backend.Signal(h.wake)
	}
}

// Dropped returns how many steps this process could not keep. The error says why the
// files cannot be written at present; it is nil if they can.
func (h *History) Dropped() (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dropped, h.broken
}

// take empties the buffer. The result is valid until the next call.
func (h *History) take() []session.Step {
	h.mu.Lock()
	defer h.mu.Unlock()
	steps := h.steps
	h.steps, h.spare = h.spare[:0], steps
	return steps
}

func (h *History) drop(n uint64, why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropped += n
	h.broken = why
}

// writer is the goroutine of a History.
type writer struct {
	h     *History
	files *files
	track *tracker
	said  uint64 // drops that were logged
	sayAt time.Time
}

func (w *writer) run() {
	defer close(w.h.done)
	defer w.files.close()
	tick := time.NewTicker(openAfter)
	defer tick.Stop()
	var due <-chan time.Time
	for {
		select {
		case <-w.h.wake: // wait for more steps, to write them together
			due = time.After(writeEvery)
		case <-due:
			w.write()
		case back := <-w.h.ask:
			w.write()
			back <- viewOf(w.h.cfg.Dir, w.track.openNow())
		case <-tick.C:
			w.write()
		case <-w.h.stop:
			w.write()
			w.track.flush(time.Now())
			w.put()
			return
		}
	}
}

// write makes lines of the steps that have come.
func (w *writer) write() {
	steps := w.h.take()
	for i := range steps {
		w.track.step(&steps[i])
		steps[i] = session.Step{} // the spare buffer must not keep alive what a step refers to
	}
	w.track.tick(time.Now())
	w.put()
	w.say(time.Now())
}

// put writes the lines that the tracker has made.
func (w *writer) put() {
	lost := w.track.dropped
	w.track.dropped = 0
	var err error
	if lines, n := w.track.lines(); n > 0 {
		if err = w.files.write(lines, time.Now()); err != nil {
			lost += uint64(n)
		}
	} else {
		err = w.files.err
	}
	w.h.drop(lost, err)
}

// say logs that something is missing, at most once in sayEvery.
func (w *writer) say(now time.Time) {
	n, err := w.h.Dropped()
	if n == w.said || now.Before(w.sayAt) {
		return
	}
	w.h.cfg.Log.Warn("the history of locks has gaps; locks themselves are not affected", "dropped", n-w.said, "dir", w.h.cfg.Dir, "err", err)
	w.said, w.sayAt = n, now.Add(sayEvery)
}

// view is what is known at one moment.
type view struct {
	open  []Attempt // that are not over
	files []segment // with their sizes, beyond which is what came later
	err   error
}

func viewOf(dir string, open []Attempt) view {
	all, err := list(dir)
	return view{open, all, err}
}

// view is of a moment at which all steps that have come are written. It is an error if ctx ends
// before.
func (h *History) view(ctx context.Context) (view, error) {
	back := make(chan view, 1)
	select {
	case h.ask <- back:
		v := <-back
		return v, v.err
	case <-h.done:
		v := viewOf(h.cfg.Dir, nil)
		return v, v.err
	case <-ctx.Done():
		return view{}, ctx.Err()
	}
}
