// Package journal keeps in a file what a gateway process has to know of the process
// before it: which sessions there are, which holds each of them was told of, and
// where something may be left in the store.
//
// A record is written before anybody is told what it says. It survives the process, as
// the clients may. It is not forced to the disk, because the clients die with the machine.
// Each record, what it is written before, and what would happen otherwise:
//
//	want           an acquire                       what it left belongs to nobody
//	turn           "granted"                        two holders, or a fence given twice
//	end of turn    "released", "lost", the release  a lock is kept for nobody
//	deadline       it counts                        a lost hold goes on
//	answer         it is sent                       a repeat acts a second time
//
// The highest fence of all turns is kept for good, also when the names are forgotten. An
// embedded store that starts anew needs it to notice a clock that went back.
//
// A file that breaks off, or goes on with zeros, was written until its process died:
// the rest of it is true. One that is damaged, of another machine start or of another
// program is not believed at all. Of another machine start one thing is kept: the node, so
// that what may be left in the store is given back. If nothing is, the node is a new one, as
// two machines that were made of one image must not be one node.
//
// If a record cannot be written, the file is emptied, because an outdated journal is
// worse than none: a process that starts without one is a new node. The journal is written
// anew as soon as that is possible. How long somebody may still hold a lock is kept beside
// it, see State.Until.
package journal

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	fileName = "journal"
	lockName = "lock"
	// retry is how soon a journal that could not be written is tried again.
	retry = 5 * time.Second
	// slack is how large a file may be in any case, in bytes.
	slack = 4 << 20
	// most is how large it may become. Most answers are left out before it grows beyond that,
	// and it is written anew more often.
	most = 64 << 20
	// part of its file system that it may have: while it is written anew there are two.
	part = 8
)

// ErrLocked: another process has the directory.
var ErrLocked = errors.New("in use by another gateway")

// Journal is the open file. A nil Journal keeps nothing. Its methods may be called
// at once; none returns an error, see Err.
type Journal struct {
	// Report, if set before the first use, hears why the journal is not written, and
	// nil when it is again. It must not call the Journal.
	Report func(error)

	path  string
	dir   *os.File // locked
	lock  *os.File // locked, too
	most  int64    // bytes that the file may have
	reach reach

	mu    sync.Mutex // guards the fields below
	state State
	out   *tail
	base  int64     // size of what was written at once
	heard time.Time // when the newest answer was given, if not before this process began
	buf   []byte
	err   error // why nothing is written now
	next  time.Time
	again *time.Timer // looks for room while there is nothing to write
}

// Open takes the directory for this process. The State is what the process before left; it
// is not used by the Journal any more. ErrLocked if another process has dir. Where the disk is
// full, Err may tell from the beginning that nothing is written.
func Open(dir string) (*Journal, State, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, State{}, fmt.Errorf("state directory: %w", err)
	}
	j := &Journal{path: filepath.Join(dir, fileName), most: mostIn(dir), heard: time.Now()}
	err := j.claim(dir)
	if err == nil {
		err = j.begin()
	}
	if err != nil {
		return nil, State{}, errors.Join(err, j.letGo())
	}
	return j, j.state.clone(), nil
}

// begin reads what is there and writes it anew.
func (j *Journal) begin() error {
	boot, err := bootID()
	if err != nil {
		return err
	}
	j.state, err = load(j.path)
	if err != nil {
		return err
	}
	if err := j.reach.take(j.lock, boot); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	switch {
	case j.state.Node == "":
		j.state = State{Boot: boot, Rejected: j.state.Rejected, Until: j.reach.until}
		j.state.rename()
	case j.state.Boot != boot && len(j.state.Places) == 0:
		j.state.rename() // the disk may be a copy, of an image that several machines are made of
	}
	j.state.make()
	if j.state.Boot != boot {
		j.state.Boot = boot
		j.state.outlive()
	}
	j.state.forgetEnded()
	j.state.modernize()
	if err := j.rewrite(); err != nil && !j.startFull(err) {
		return fmt.Errorf("state directory: %w", err)
	}
	return nil
}

// Err says why the journal is not written at present, nil if it is.
func (j *Journal) Err() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Close lets another process have the directory.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if j.out != nil {
		err = j.out.close()
		j.out = nil
	}
	if j.again != nil {
		j.again.Stop()
	}
	j.err = os.ErrClosed
	j.next = time.Now().Add(24 * time.Hour)
	return errors.Join(err, j.letGo())
}

// write appends a record, and another if with is not nil, both or none of them, and
// remembers what they say.
func (j *Journal) write(r, with *record) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reach.told(r)
	if r.Answer != nil || with != nil && with.Answer != nil {
		j.heard = time.Now()
	}
	j.buf = r.append(j.buf[:0])
	j.state.apply(r)
	if with != nil {
		j.buf = with.append(j.buf)
		j.state.apply(with)
	}
	if j.err != nil {
		j.recover()
		return
	}
	if err := j.out.append(j.buf); err != nil {
		j.fail(err)
		return
	}
	if j.out.size > j.full() && !time.Now().Before(j.next) && j.rewrite() != nil {
		j.next = time.Now().Add(retry) // the file is long, but true
	}
}

// mostIn is how large a journal in dir may become.
func mostIn(dir string) int64 {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return most
	}
	return min(most, int64(fs.Blocks)*int64(fs.Bsize)/part) //nolint:unconvert // of another type on FreeBSD
}

// full is the size from which on the file is written anew: it has to grow by a part of
// what it begins with, or it would be written all the time.
func (j *Journal) full() int64 { return max(min(slack+4*j.base, j.most), j.base+max(j.base/4, chunk)) }

// fail is called when a record could not be written. If there is no room, the journal is
// written anew, which needs less without the answers. If there is no room for that either,
// the file is emptied first, and its room is used. A process that is killed in between leaves
// an empty journal.
func (j *Journal) fail(err error) {
	full := noRoom(err)
	if full {
		if j.state.forgetAnswers(0); j.rewrite() == nil {
			return
		}
	}
	j.err = inLine(err, j.void(err))
	if full && j.rewrite() == nil {
		j.err = nil
		return
	}
	j.next = time.Now().Add(retry)
	j.again = time.AfterFunc(retry, j.tryAgain)
	j.report(j.err)
}

func (j *Journal) report(err error) {
	if j.Report != nil {
		j.Report(err)
	}
}

// encode is a file that says just what is known. Answers have half of what it may become, less
// what all the rest needs, but an eighth of it in any case: a repeat counts with many sessions, too.
func (j *Journal) encode() []byte {
	b := encode([]byte(header), j.state.records())
	rest := int64(len(b))
	room := max(j.most/2-rest, j.most/8)
	b = encode(b, j.state.answers())
	for int64(len(b))-rest > room {
		fit := int64(len(j.state.recent)) * room / (int64(len(b)) - rest)
		j.state.forgetAnswers(int(fit * 3 / 4)) // they are not of one size
		b = encode(b[:rest], j.state.answers())
	}
	return b
}

func encode(b []byte, rs iter.Seq[*record]) []byte {
	for r := range rs {
		b = r.append(b)
	}
	return b
}

// rewrite puts a file that says just what is known in place of the present one.
func (j *Journal) rewrite() error {
	if err := j.claim(filepath.Dir(j.path)); err != nil {
		return err
	}
	j.state.forgetOld(time.Since(j.heard))
	tmp := j.path + ".new"
	_ = os.Remove(tmp)                                                 // of a process that was killed, or a link: the next line says so if it is still there
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // follows no link
	if err != nil {
		return err
	}
	b := j.encode()
	_, err = f.Write(b)
	if err == nil {
		err = os.Rename(tmp, j.path)
	}
	if err != nil {
		f.Close()
		_ = os.Remove(tmp)
		return err
	}
	if j.out != nil {
		_ = j.out.drop() // nothing is in it any more that counts
	}
	j.out, j.base = &tail{f: f, size: int64(len(b))}, int64(len(b))
	return nil
}
