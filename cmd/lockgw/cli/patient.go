package cli

import (
	"io"
	"sync"
	"time"
)

const (
	// writePatience is how long a message may hold up who writes it.
	writePatience = 50 * time.Millisecond
	// mostUnwritten bounds what waits for a reader, in bytes. What comes then is dropped.
	mostUnwritten = 1 << 20
)

// Patient writes to w for those who cannot wait, as they have locks to look after: w may take
// nothing for as long as its reader likes, as a full pipe does, and a terminal after Ctrl-S. It
// is safe for concurrent use.
type Patient struct {
	w io.Writer

	mu      sync.Mutex // guards the fields below
	waiting []byte
	writing chan struct{} // closed when all is written; nil: it is
}

// NewPatient makes one that writes to w.
func NewPatient(w io.Writer) *Patient { return &Patient{w: w} }

// Write waits for a moment, so that most of the time what was written stands there before
// whatever follows. It does not wait behind one that takes longer already.
func (p *Patient) Write(b []byte) (int, error) {
	p.mu.Lock()
	if len(p.waiting)+len(b) <= mostUnwritten {
		p.waiting = append(p.waiting, b...)
	}
	stuck := p.writing != nil
	if !stuck {
		p.writing = make(chan struct{})
		go p.write(p.writing) // ends with its reader, or with the process
	}
	done := p.writing
	p.mu.Unlock()
	if !stuck {
		select {
		case <-done:
		case <-time.After(writePatience):
		}
	}
	return len(b), nil
}

func (p *Patient) write(done chan struct{}) {
	for {
		p.mu.Lock()
		b := p.waiting
		p.waiting = nil
		if len(b) == 0 {
			p.writing = nil
			close(done)
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		_, _ = p.w.Write(b) // nobody can be told
	}
}

// Written is closed when all is written.
func (p *Patient) Written() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writing != nil {
		return p.writing
	}
	none := make(chan struct{})
	close(none)
	return none
}
