package socket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/session/listing"
	"github.com/lockgw/lockgw/session/peer"
	"github.com/lockgw/lockgw/socket/resp"
)

// Config of a Server. Manager is required. The zero value of another field means its
// default.
type Config struct {
	Manager *session.Manager
	Lists   *listing.Lists // of Manager, one for all fronts; default: of its own
	Log     *slog.Logger   // default: nothing is logged
	Version string         // of the gateway, for people
	// Descriptors counts the file descriptors of the clients. Default: one of its own.
	Descriptors *peer.Descriptors
	// Access says who may do what. Default: everybody may lock and look.
	Access *access.Control
	Limits Limits

	peerOf func(net.Conn) (session.Peer, error) // peer.Of
}

// Limits of a Server. A connection that goes beyond one is refused or closed. 0 means the
// default.
type Limits struct {
	Conns       int // connections at once, administrators excepted; default 16,384
	ConnsPerUID int // connections of one user at once; default 4,096
	// ChannelsPerUID is subscriptions of one user, on all connections: every event of the
	// node is compared with each pattern. Default 4,096.
	ChannelsPerUID int
	Output         int           // bytes that a client leaves unread; default 256 KiB
	Read           time.Duration // for a command to arrive as a whole; default 5 s
	Write          time.Duration // for a client to take what is written; default 5 s
}

// Server serves the commands of package socket. Use NewServer.
type Server struct {
	cfg      Config
	commands map[string]*command // by name in upper case; does not change
	started  time.Time
	alarms   *alarms
	running  sync.WaitGroup // Serve, connections, and what they start

	closing context.Context // done by stop
	stop    context.CancelFunc

	mu        sync.Mutex // guards the fields below; held during stop
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	users     map[int]int // connections by uid
	channels  map[int]int // subscriptions by uid
	lastID    int64
}

// NewServer makes a Server. It does nothing before Serve.
func NewServer(cfg Config) *Server {
	s := &Server{
		cfg: cfg.withDefaults(), commands: commandTable(), started: time.Now(),
		listeners: map[net.Listener]struct{}{}, conns: map[*conn]struct{}{}, users: map[int]int{}, channels: map[int]int{},
	}
	s.closing, s.stop = context.WithCancel(context.Background())
	s.alarms = newAlarms(s.cfg.Manager)
	return s
}

func (c Config) withDefaults() Config {
	c.Log, c.Lists = cmp.Or(c.Log, slog.New(slog.DiscardHandler)), cmp.Or(c.Lists, listing.New(c.Manager))
	c.Descriptors, c.Access = cmp.Or(c.Descriptors, peer.NewDescriptors()), cmp.Or(c.Access, access.Open())
	if c.peerOf == nil {
		c.peerOf = peer.Of
	}
	c.Limits.Conns = cmp.Or(c.Limits.Conns, 16_384)
	c.Limits.ConnsPerUID = cmp.Or(c.Limits.ConnsPerUID, 4096)
	c.Limits.ChannelsPerUID = cmp.Or(c.Limits.ChannelsPerUID, 4096)
	c.Limits.Output = cmp.Or(c.Limits.Output, 256<<10)
	c.Limits.Read = cmp.Or(c.Limits.Read, 5*time.Second)
	c.Limits.Write = cmp.Or(c.Limits.Write, 5*time.Second)
	return c
}

// Serve accepts connections until Shutdown, then returns nil. It closes ln.
func (s *Server) Serve(ln net.Listener) error {
	defer ln.Close()
	if !s.begin(ln) {
		return nil
	}
	defer s.end(ln)
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil:
			s.running.Go(func() { s.serve(nc) })
		case s.closing.Err() != nil:
			return nil
		case passing(err):
			s.cfg.Descriptors.RefuseAll(err)
			s.pause()
		default:
			return fmt.Errorf("accept: %w", err)
		}
	}
}

// passing tells whether an error of accept concerns the machine or one client, and not the
// socket.
func passing(err error) bool { return peer.Full(err) || errors.Is(err, unix.ECONNABORTED) }

// pause waits a moment before the next accept after a passing error.
func (s *Server) pause() {
	select {
	case <-s.closing.Done():
	case <-time.After(100 * time.Millisecond):
	}
}

func (s *Server) begin(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil {
		return false
	}
	s.running.Add(1)
	s.listeners[ln] = struct{}{}
	return true
}

func (s *Server) end(ln net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, ln)
	s.running.Done()
}

func (s *Server) serve(nc net.Conn) {
	c, err := s.admit(nc)
	if err != nil {
		refuse(nc, err)
		return
	}
	c.serve()
}

func (s *Server) admit(nc net.Conn) (*conn, error) {
	p, err := s.cfg.peerOf(nc)
	if err != nil {
		return nil, replyError{"NOAUTH", "it is not known who you are: " + err.Error()}
	}
	owner := peer.User(p.UID)
	use, err := s.cfg.Descriptors.Take(owner, peer.Number(nc))
	if err != nil {
		return nil, err
	}
	c, err := s.add(nc, p, use, owner.Admin())
	if err != nil {
		s.cfg.Descriptors.Refuse(owner)
		use.Release()
	}
	return c, err
}

// add makes the connection of a client for which there is a descriptor.
func (s *Server) add(nc net.Conn, p session.Peer, use *peer.Use, admin bool) (*conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limits := s.cfg.Limits
	switch {
	case s.closing.Err() != nil:
		return nil, &session.Error{Code: session.CodeDraining, Detail: "the gateway is going away"}
	case len(s.conns) >= limits.Conns && !admin:
		return nil, replyError{"BUSY", fmt.Sprintf("the gateway has %d connections, the most it may have", limits.Conns)}
	case s.users[p.UID] >= limits.ConnsPerUID:
		return nil, replyError{"BUSY", fmt.Sprintf("uid %d has %d connections, the most one user may have", p.UID, limits.ConnsPerUID)}
	}
	s.lastID++
	c := newConn(s, nc, p, s.lastID)
	c.use = use
	s.conns[c] = struct{}{}
	s.users[p.UID]++
	return c, nil
}

// refuse tells err and closes. One line fits into every socket buffer, so the write cannot
// block.
func refuse(nc net.Conn, err error) {
	var w resp.Writer
	w.Error(errorLine(err))
	_, _ = nc.Write(w.Bytes())
	nc.Close()
}

func (s *Server) drop(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	c.use.Release()
	if s.users[c.peer.UID]--; s.users[c.peer.UID] == 0 {
		delete(s.users, c.peer.UID)
	}
}

// Shutdown stops accepting and reading, lets the commands under way be answered
// until ctx is done, and waits for every goroutine of the Server. Drain the
// Manager before, so that no command goes on waiting. The sessions of the
// connections are left as they are: their clients are not gone, and the Manager
// knows what becomes of them. The error is ctx's if commands were cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopAll((*conn).stopReading)
	idle := make(chan struct{})
	go func() { s.running.Wait(); close(idle) }()
	var err error
	select {
	case <-idle:
	case <-ctx.Done():
		err = ctx.Err()
		s.stopAll((*conn).abort)
		<-idle
	}
	s.alarms.stop()
	return err
}

// Close is Shutdown without waiting for commands under way.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Shutdown(ctx) // that commands were cut off is what was asked
	return nil
}

func (s *Server) stopAll(f func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	for ln := range s.listeners {
		ln.Close()
	}
	for c := range s.conns {
		f(c)
	}
}
