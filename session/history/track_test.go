package history

import (
	"bytes"
	"strconv"
	"testing"
	"time"
)

// A minute in which very many names were used once ends with a line for each. They are
// handed over in pieces, all of them, and no piece is larger than the others.
func TestManyLinesGoInPieces(t *testing.T) {
	lines, pieces := 0, 0
	var tr *tracker
	take := func() {
		text, n := tr.lines()
		if len(text) > pieceSize+4*lineSize || bytes.Count(text, []byte{'\n'}) != n {
			t.Fatalf("a piece of %d bytes with %d lines, of which %d are complete, want at most %d bytes", len(text), n, bytes.Count(text, []byte{'\n'}), pieceSize+4*lineSize)
		}
		lines += n
		pieces++
	}
	tr = newTracker(Config{Keep: time.Hour, MaxSize: 1 << 20}, take)
	now := time.Now()
	for i := range maxWindows {
		tr.windows["once"+strconv.Itoa(i)] = &counted{from: now, more: Totals{Attempts: 1}}
	}
	tr.roll(now.Add(window))
	take() // what is left
	if lines != maxWindows || pieces < 10 {
		t.Errorf("%d lines in %d pieces, want %d in many", lines, pieces, maxWindows)
	}
}

// The first window is as long as the others, whenever the first lines are written.
func TestFirstWindow(t *testing.T) {
	lines := 0
	tr := newTracker(Config{Keep: time.Hour, MaxSize: 1 << 20}, func() {})
	now := time.Now()
	tr.windows["busy"] = &counted{from: now, more: Totals{Attempts: 1}}
	for _, at := range []struct {
		after time.Duration
		lines int
	}{{time.Second, 0}, {window, 0}, {window + time.Second, 1}} {
		tr.tick(now.Add(at.after))
		_, n := tr.lines()
		if lines += n; lines != at.lines {
			t.Errorf("%d lines after %v, want %d", lines, at.after, at.lines)
		}
	}
}
