package history_test

import (
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// lane is a kind of connection to the store.
type lane int

const (
	commands lane = iota
	messages      // the one that has said that it listens, by SUBSCRIBE or LISTEN
	lanes
)

// mode of a fault on the way.
type mode int

const (
	pass         mode = iota
	delayReplies      // each reply comes up to most later
	dropReplies       // from then on no reply of the connection comes
	blackHole         // nothing passes and nobody is told; what was held back goes on afterwards
	cutOnReply        // the request passes, and the connection ends in place of the reply
	reset             // the connection ends at once, with RST
	late              // a request arrives least to most later, whether or not its sender still waits
)

// trouble is what a lane does to what passes.
type trouble struct {
	mode        mode
	chance      float64 // that a request or reply is hit
	least, most time.Duration
}

// proxy stands between one gateway and its store.
type proxy struct {
	addr    string // host:port to connect to
	target  string
	listens func(chunk []byte) bool // see store
	ln      net.Listener
	wg      sync.WaitGroup
	done    chan struct{} // closed with the proxy

	mu      sync.Mutex // guards the fields below
	rng     *rand.Rand
	trouble [lanes]trouble
	changed chan struct{} // closed when trouble changes
	conns   map[*link]struct{}
}

// proxies of one gateway, one to each server of its store.
type proxies []*proxy

// addr is where they listen, with commas between.
func (all proxies) addr() string {
	var addrs []string
	for _, p := range all {
		addrs = append(addrs, p.addr)
	}
	return strings.Join(addrs, ",")
}

func (all proxies) set(l lane, t trouble) {
	for _, p := range all {
		p.set(l, t)
	}
}

func (all proxies) freeze(l lane) {
	for _, p := range all {
		p.freeze(l)
	}
}

func (all proxies) thaw() {
	for _, p := range all {
		p.thaw()
	}
}

// have: each has a connection of lane l.
func (all proxies) have(l lane) bool {
	return !slices.ContainsFunc(all, func(p *proxy) bool { return !p.has(l) })
}

// link is one connection through a proxy.
type link struct {
	client, server *net.TCPConn

	mu     sync.Mutex // guards the fields below
	lane   lane
	deaf   bool // a reply was dropped: a later one would be taken for it
	frozen bool // in a black hole of its own, for ever
}

func startProxy(t testing.TB, target string, listens func([]byte) bool, rng *rand.Rand) *proxy {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("proxy: %v", err)
	}
	p := &proxy{
		addr: ln.Addr().String(), target: target, listens: listens, ln: ln, rng: rng,
		done: make(chan struct{}), changed: make(chan struct{}), conns: map[*link]struct{}{},
	}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// set puts every connection of lane l, present and to come, in trouble.
func (p *proxy) set(l lane, t trouble) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trouble[l] = t
	close(p.changed)
	p.changed = make(chan struct{})
}

// freeze puts the present connections of a lane in a black hole for ever, as when
// something on the way forgets about them; new ones are not concerned.
func (p *proxy) freeze(l lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.freeze(l)
	}
}

// thaw ends the frozen connections, as keepalive probes do at last.
func (p *proxy) thaw() {
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.conns))
	p.mu.Unlock()
	for _, l := range all {
		if l.isFrozen() {
			l.melt()
			p.drop(l)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
}

// has: there is a connection of lane l.
func (p *proxy) has(l lane) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if c.laneNow() == l {
			return true
		}
	}
	return false
}

func (p *proxy) accept() {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return // closed
		}
		s, err := net.Dial("tcp", p.target)
		if err != nil {
			c.Close()
			continue
		}
		l := &link{client: c.(*net.TCPConn), server: s.(*net.TCPConn)}
		p.mu.Lock()
		p.conns[l] = struct{}{}
		p.mu.Unlock()
		p.wg.Go(func() { p.requests(l) })
		p.wg.Go(func() { p.replies(l) })
	}
}

// requests outlives the client, who may have gone while what it sent is held back.
func (p *proxy) requests(l *link) {
	buf := make([]byte, 64<<10)
	for chunks := 0; ; chunks++ {
		n, err := l.client.Read(buf)
		if chunks < 8 && p.listens(buf[:n]) {
			l.setLane(messages)
		}
		t, ok := p.weather(l)
		switch {
		case !ok || t.mode == reset:
			_ = l.client.SetLinger(0)
			p.drop(l)
			return
		case t.mode == late && !p.sleep(p.between(t.least, t.most)):
			return
		}
		if _, werr := l.server.Write(buf[:n]); err != nil || werr != nil {
			_ = l.server.CloseWrite()
			return
		}
	}
}

func (p *proxy) replies(l *link) {
	defer p.drop(l)
	buf := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buf)
		t, ok := p.weather(l)
		switch {
		case !ok || err != nil || t.mode == cutOnReply:
			return
		case t.mode == delayReplies && !p.sleep(p.between(t.least, t.most)):
			return
		case t.mode == dropReplies || l.isDeaf():
			l.setDeaf()
			continue
		}
		_, _ = l.client.Write(buf[:n]) // gone: what it has sent goes on all the same
	}
}

// weather is what happens to what passes now; false: the proxy is closed. It
// returns when there is no black hole.
func (p *proxy) weather(l *link) (trouble, bool) {
	for {
		p.mu.Lock()
		t, changed := p.trouble[l.laneNow()], p.changed
		hit := p.rng.Float64() < t.chance
		p.mu.Unlock()
		if t.mode != blackHole && !l.isFrozen() {
			if !hit {
				t = trouble{}
			}
			return t, true
		}
		select {
		case <-changed:
		case <-p.done:
			return t, false
		}
	}
}

func (p *proxy) between(least, most time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return least + time.Duration(p.rng.Int64N(int64(most-least)+1))
}

func (p *proxy) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-p.done:
		return false
	}
}

func (p *proxy) drop(l *link) {
	l.client.Close()
	l.server.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, l)
}

func (p *proxy) close() {
	p.ln.Close()
	close(p.done)
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.conns))
	p.mu.Unlock()
	for _, l := range all {
		p.drop(l)
	}
	p.wg.Wait()
}

func (l *link) setLane(to lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lane = to
}

func (l *link) laneNow() lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lane
}

func (l *link) freeze(in lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = l.frozen || l.lane == in
}

func (l *link) melt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = false
}

func (l *link) isFrozen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.frozen
}

func (l *link) setDeaf() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deaf = true
}

func (l *link) isDeaf() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deaf
}
