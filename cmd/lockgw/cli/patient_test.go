package cli

import (
	"io"
	"strings"
	"testing"
	"time"
)

// What was said while nobody read is read later, in its order, and no one waits for it twice.
func TestPatient(t *testing.T) {
	r, w := io.Pipe()
	p := NewPatient(w)
	began := time.Now()
	for range 1000 {
		_, _ = io.WriteString(p, "a line\n")
	}
	_, _ = p.Write(make([]byte, mostUnwritten)) // too much
	if took := time.Since(began); took > 100*writePatience {
		t.Errorf("1000 lines that nobody read took %v", took)
	}
	all := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		all <- string(b)
	}()
	<-p.Written()
	_ = w.Close()
	if got, want := <-all, strings.Repeat("a line\n", 1000); got != want {
		t.Errorf("%d bytes were read, want %d", len(got), len(want))
	}
}
