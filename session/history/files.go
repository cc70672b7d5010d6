package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// segments is into how many files the space is divided: removing the oldest one loses
	// little of the history.
	segments = 16
	// maxSegments bounds the number of files: each restart begins a new one.
	maxSegments = 256
	ending      = ".jsonl"
	// named is the layout of a segment's name: the time of its first line, so that the names
	// sort by age.
	named = "20060102T150405.000000Z"
	// retry is how soon a file that could not be written is tried again.
	retry = 5 * time.Second
)

// files are the segments in one directory. Only the newest is written.
type files struct {
	dir     string
	keep    time.Duration
	most    int64 // bytes of all segments
	segment int64 // bytes of one segment

	out   *os.File
	size  int64 // of out
	since time.Time
	next  time.Time // after an error: when to try again
	err   error     // of the last try
}

func openFiles(cfg Config) (*files, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return &files{dir: cfg.Dir, keep: cfg.Keep, most: cfg.MaxSize, segment: max(cfg.MaxSize/segments, 4096)}, nil
}

// write appends whole lines, or nothing. A segment that cannot be written is tried
// again later; meanwhile the error is that of the last try.
func (f *files) write(lines []byte, now time.Time) error {
	if f.err != nil && now.Before(f.next) {
		return f.err
	}
	f.err = f.tryWrite(lines, now)
	if f.err != nil {
		f.next = now.Add(retry)
		f.close()
		if errors.Is(f.err, syscall.ENOSPC) || errors.Is(f.err, syscall.EDQUOT) {
			f.dropOldest() // what else is on that disk needs the space more, above all the journal
		}
	}
	return f.err
}

func (f *files) tryWrite(lines []byte, now time.Time) error {
	if f.out != nil && (f.size >= f.segment || now.Sub(f.since) >= f.keep/segments || f.gone()) {
		f.close()
	}
	if f.out == nil {
		_ = os.Mkdir(f.dir, 0o700) // if somebody has removed it; the next line says what is wrong
		out, err := os.OpenFile(filepath.Join(f.dir, f.trim(now).UTC().Format(named)+ending), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		f.out, f.size, f.since = out, 0, now
	}
	n, err := f.out.Write(lines)
	if err != nil {
		if n > 0 {
			_ = f.out.Truncate(f.size) // if that fails, readers skip the half line
		}
		return err
	}
	f.size += int64(n)
	return nil
}

// gone: the segment was removed, or has another name. Nobody would read what is written to it.
func (f *files) gone() bool {
	have, err := f.out.Stat()
	if err != nil {
		return true
	}
	there, err := os.Stat(f.out.Name())
	return err != nil || !os.SameFile(have, there)
}

func (f *files) close() {
	if f.out != nil {
		_ = f.out.Close() // what was written may be lost: history promises nothing
		f.out = nil
	}
}

// trim removes segments that are too old, and the oldest ones until a new one has room. It returns
// when the new one begins as far as its name tells: after the others, also where the clock was
// set back.
func (f *files) trim(now time.Time) time.Time {
	all, err := list(f.dir)
	if err != nil || len(all) == 0 {
		return now
	}
	total := f.segment
	for i := len(all) - 1; i >= 0; i-- {
		total += all[i].size
		if total > f.most || len(all)-i >= maxSegments || now.Sub(all[i].changed) > f.keep {
			_ = os.Remove(all[i].path) // if that fails, the next segment tries again
		}
	}
	if after := all[len(all)-1].began.Add(time.Microsecond); after.After(now) {
		return after
	}
	return now
}

func (f *files) dropOldest() {
	if all, err := list(f.dir); err == nil && len(all) > 0 {
		_ = os.Remove(all[0].path)
	}
}

// segment is one file of the history.
type segment struct {
	path    string
	size    int64
	began   time.Time
	changed time.Time
}

// list returns the segments in dir, the oldest first. There are none if somebody has removed it.
func list(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []segment
	for _, e := range entries {
		began, err := time.Parse(named, strings.TrimSuffix(e.Name(), ending))
		if err != nil || !strings.HasSuffix(e.Name(), ending) || !e.Type().IsRegular() {
			continue // not ours
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, segment{filepath.Join(dir, e.Name()), info.Size(), began, info.ModTime()})
	}
	slices.SortFunc(all, func(a, b segment) int { return a.began.Compare(b.began) })
	return all, nil
}
