package journal

import (
	"fmt"
	"os"
	"time"
)

// reach is the time until which clients were told that they hold something. When the journal
// is lost, nothing else is known of them. It is in the lock file, whose room was allocated
// before, so that it can be written when the disk is full.
type reach struct {
	f     *os.File
	boot  string
	until time.Duration // on CLOCK_BOOTTIME
}

// step is how far ahead it is written, so that not every renewal writes.
const step = time.Second

const reachFormat = "%-40q %20d\n"

// take reads what the process before has left, and begins for the machine's start boot.
func (r *reach) take(f *os.File, boot string) error {
	r.f, r.boot = f, boot
	b := make([]byte, 256)
	n, _ := f.ReadAt(b, 0) // an empty one says nothing
	var was string
	var until int64
	if got, err := fmt.Sscanf(string(b[:n]), "%q %d", &was, &until); err == nil && got == 2 && was == boot {
		r.until = time.Duration(until)
	}
	return r.write()
}

// move goes on in f, where another lock file was taken.
func (r *reach) move(f *os.File) {
	if r.f == nil { // that is to come
		return
	}
	r.f = f
	_ = r.write() // as in told
}

func (r *reach) write() error {
	_, err := fmt.Fprintf(&at{r.f}, reachFormat, r.boot, int64(r.until))
	return err
}

// at writes to the beginning of a file.
type at struct{ f *os.File }

func (a *at) Write(b []byte) (int, error) { return a.f.WriteAt(b, 0) }

// told: somebody is about to be told that it holds something until then.
func (r *reach) told(rec *record) {
	until := time.Duration(0)
	switch {
	case rec.Op == opTold:
		until = rec.Turn.Deadline
	case rec.Op == opDeadline:
		until = time.Duration(rec.Number)
	}
	if until > r.until {
		r.until = until.Truncate(step) + step
		_ = r.write() // the journal itself is what counts, and says what is wrong
	}
}
