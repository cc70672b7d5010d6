package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// noRoom: the disk is full, or this user may have no more of it.
func noRoom(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// startFull goes on at the start where there was no room to write the file of the process
// before anew: the clients of that one live on, and so must what they hold. The room that it
// had allocated and not used is given up first. If that is not enough, it is as if a record
// could not be written. false: that is not what err says.
func (j *Journal) startFull(err error) bool {
	if !noRoom(err) {
		return false
	}
	f, e := os.OpenFile(j.path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if e != nil {
		return false
	}
	j.out = &tail{f: f, plain: true}
	if b, e := io.ReadAll(f); e == nil && f.Truncate(int64(len(bytes.TrimRight(b, "\x00")))) == nil && j.rewrite() == nil {
		return true
	}
	j.fail(err)
	return true
}

// tryAgain recovers also where nothing happens: what is held for long may not be renewed for hours.
func (j *Journal) tryAgain() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil || j.out == nil { // it was written since, or is closed
		return
	}
	j.recover()
	if j.err != nil {
		j.again.Reset(retry)
	}
}

func (j *Journal) recover() {
	if time.Now().Before(j.next) {
		return
	}
	j.next = time.Now().Add(retry)
	if err := j.rewrite(); err == nil {
		j.err = nil
		j.report(nil)
	}
}

// void has the next process find nothing, as a record could not be written, which is what err
// says. Where another program has meddled, the file of that name may be another one, as a copy
// that was put in its place: it says what was true once.
func (j *Journal) void(err error) error {
	e := j.out.empty()
	if e == nil && !errors.Is(err, errNoPage) {
		return nil
	}
	if errors.Is(j.claim(filepath.Dir(j.path)), ErrLocked) {
		return e // the directory was made anew, and the file in it is that of another gateway
	}
	if gone := os.Remove(j.path); !errors.Is(gone, os.ErrNotExist) {
		e = inLine(e, gone)
	}
	return e
}

// inLine is what errors.Join makes of a and b, in one line, since doctor and the log tell it in one.
func inLine(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return fmt.Errorf("%w; %w", a, b)
}
