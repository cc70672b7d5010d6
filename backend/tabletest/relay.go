package tabletest

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Relay passes connections on to a server.
type Relay struct {
	Addr string // host:port, on loopback

	listener net.Listener
	wg       sync.WaitGroup
	cuts     atomic.Bool
	swallows atomic.Bool
	dead     atomic.Int64 // connections that Mute has made so

	mu    sync.Mutex // guards the fields below
	to    string
	conns []net.Conn
	mutes []byte // nil: none
	lies  [2][]byte
}

// NewRelay passes connections on to the server at to, until the test ends.
func NewRelay(t testing.TB, to string) *Relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{Addr: l.Addr().String(), to: to, listener: l}
	r.wg.Go(r.accept)
	t.Cleanup(func() {
		_ = l.Close()
		r.mu.Lock()
		for _, x := range r.conns {
			_ = x.Close()
		}
		r.mu.Unlock()
		r.wg.Wait()
	})
	return r
}

// Lead has connections that are made from now on go to the server at to; those that there are stay.
func (r *Relay) Lead(to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
}

// Shut has no connection more be taken; those that there are stay.
func (r *Relay) Shut() { _ = r.listener.Close() }

// Cut has each connection end at the first byte that the server sends, as long as it is on.
func (r *Relay) Cut(on bool) { r.cuts.Store(on) }

// Swallow has each connection that is made from now on be answered nothing, as long as it is on.
func (r *Relay) Swallow(on bool) { r.swallows.Store(on) }

// Mute has the next connection on which text is sent die: the server gets the text, and nothing
// comes back for ever, as where something on the way has forgotten the connection.
func (r *Relay) Mute(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mutes = []byte(text)
}

// Lie has the server get lie in place of text, which is as long.
func (r *Relay) Lie(text, lie string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lies = [2][]byte{[]byte(text), []byte(lie)}
}

// Muted is how many connections have died by Mute.
func (r *Relay) Muted() int { return int(r.dead.Load()) }

func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		if r.swallows.Load() {
			r.mu.Lock()
			r.conns = append(r.conns, client)
			r.mu.Unlock()
			r.wg.Go(func() { drain(client) })
			continue
		}
		r.mu.Lock()
		to := r.to
		r.mu.Unlock()
		server, err := net.Dial("tcp", to)
		if err != nil {
			_ = client.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, client, server)
		r.mu.Unlock()
		var dead atomic.Bool
		end := func() { _, _ = client.Close(), server.Close() }
		r.wg.Go(func() {
			defer end()
			pass(client, server, func(sent []byte) bool {
				r.lie(sent)
				if r.mutesAt(sent) {
					dead.Store(true)
					r.dead.Add(1)
				}
				return true
			})
		})
		r.wg.Go(func() {
			defer end()
			pass(server, client, func([]byte) bool { return !r.cuts.Load() && !dead.Load() })
			if dead.Load() {
				drain(server)
			}
		})
	}
}

// lie changes what was sent.
func (r *Relay) lie(sent []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at := bytes.Index(sent, r.lies[0]); len(r.lies[0]) > 0 && at >= 0 {
		copy(sent[at:], r.lies[1])
	}
}

// mutesAt: the connection on which that is sent dies.
func (r *Relay) mutesAt(sent []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mutes == nil || !bytes.Contains(sent, r.mutes) {
		return false
	}
	r.mutes = nil
	return true
}

// pass copies what comes from one side to the other, as long as ok says so.
func pass(from, to net.Conn, ok func([]byte) bool) {
	b := make([]byte, 1<<16)
	for {
		n, err := from.Read(b)
		if err != nil || !ok(b[:n]) {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// drain reads what nobody gets.
func drain(from net.Conn) {
	b := make([]byte, 1<<16)
	for {
		if _, err := from.Read(b); err != nil {
			return
		}
	}
}
