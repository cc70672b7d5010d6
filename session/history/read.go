package history

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// maxLine is the longest line that is read; none that was written is longer.
const maxLine = 64 << 10

// scan calls f for the lines of all files of v that were changed at or after since, the oldest
// first; only for those about lock if lock is not empty. Anything that is not a whole line
// of a history is left out. Only one scan runs at a time, because it occupies a core that
// the callers of locks need more. It is an error if ctx ends before.
func (h *History) scan(ctx context.Context, v *view, lock string, since time.Time, f func(*line)) error {
	select {
	case h.scans <- struct{}{}:
		defer func() { <-h.scans }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var about []byte
	if lock != "" {
		quoted, _ := json.Marshal(lock) // a string cannot fail
		about = append([]byte(`"lock":`), quoted...)
	}
	for i := range v.files {
		s := &v.files[i]
		if s.changed.Before(since) {
			continue
		}
		if err := scanFile(ctx, s, about, f); err != nil {
			return err
		}
	}
	return nil
}

func scanFile(ctx context.Context, s *segment, about []byte, f func(*line)) error {
	file, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed meanwhile, as the oldest one is
	}
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReaderSize(io.LimitReader(file, s.size), maxLine)
	for {
		text, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil // a line without an end was cut off
		case errors.Is(err, bufio.ErrBufferFull):
			continue // too long to be one of our lines; this is a part of it
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case about != nil && !bytes.Contains(text, about):
			continue
		}
		var l line
		if json.Unmarshal(text, &l) == nil {
			f(&l)
		}
	}
}
