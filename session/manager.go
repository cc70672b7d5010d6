package session

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lockgw/lockgw/backend"
)

// Manager is the registry of sessions and of the names they hold or wait for.
type Manager struct {
	bus
	b        backend.Backend
	cfg      Config
	seq      atomic.Uint64 // of requests
	slots    atomic.Uint64 // of contenders, where the order is strict
	drained  chan struct{} // closed by Drain
	drain    sync.Once
	wg       sync.WaitGroup // every goroutine that the Manager started
	index    sessionIndex
	renewals renewals
	timers   timers
	lists    lists
	answers  answers

	mu        sync.Mutex // guards the fields below; nothing is locked under it
	closed    bool
	places    map[placeKey]*place
	slotted   map[string]*crowd // those of them that have a slot, by name
	empty     chan struct{}     // set by Close; closed when no place is left
	sessions  map[tokenHash]*Session
	users     map[string]int // how many of them each user has
	cleared   time.Duration  // when idle sessions were looked for
	ended     map[tokenHash]ended
	fences    map[string]backend.Fence // highest seen of names that nobody here uses now
	mark      backend.Fence            // highest of all those that are not in fences; only of a store that ends with the process
	journaled map[placeKey]struct{}    // the journal says that they may be in the store, and they are not
}

// ended is what is remembered of a session that is over.
type ended struct {
	why *Error
	at  time.Duration
}

const (
	// idLength is 60 random bits: no two sessions may be one in the journal.
	idLength      = 18
	rememberEnded = 10 * time.Minute
	maxFences     = 1 << 16
	maxJournaled  = 1 << 10
)

// New makes a Manager over b, with what Config.Past says that there was. Close it
// before b.
func New(b backend.Backend, cfg Config) *Manager {
	m := &Manager{
		b: b, cfg: cfg.withDefaults(), drained: make(chan struct{}),
		places: map[placeKey]*place{}, slotted: map[string]*crowd{}, sessions: map[tokenHash]*Session{}, users: map[string]int{},
		ended: map[tokenHash]ended{}, fences: map[string]backend.Fence{}, journaled: map[placeKey]struct{}{}, lists: newLists(),
	}
	or(&m.cfg.Store, b.Info().Type)
	if most := b.Info().MaxTTL; most > 0 {
		m.cfg.Limits.MaxTTL = min(m.cfg.Limits.MaxTTL, most)
	}
	m.renewals.start(m)
	m.timers.start(m)
	m.answers.start(m)
	m.restore(m.cfg.Past)
	b.Listen(m.hinted)
	m.resumeAll(m.cfg.Past)
	return m
}

// Open makes a session. CodeTooManySessions, CodeDraining, CodeInvalid; CodeConflict
// for a Key whose session lives by another process, or by none.
func (m *Manager) Open(o Options) (*Session, Token, error) {
	if err := m.checkOptions(o); err != nil {
		return nil, "", err
	}
	select {
	case <-m.drained:
		return nil, "", m.drainingError("")
	default:
	}
	t := newToken()
	if o.Key != "" {
		t = m.tokenFor(o)
	}
	s := m.newSession(t.hash(), o)
	s.id, s.uuid, s.since = uuid.NewString()[:idLength], uuid.NewString(), time.Now()
	if o.Process.PID != 0 && o.Process.Command != "" {
		s.shown.Store(o.Process.peer())
	}
	same, err := m.register(s)
	if CodeOf(err) == CodeTooManySessions && m.clear(o.User) {
		same, err = m.register(s)
	}
	if same != s {
		s.cancel(nil)
		if err != nil {
			return nil, "", err
		}
		return same, t, nil
	}
	m.cfg.Journal.Opened(s.entry())
	s.live()
	m.index.add(s) // not before: who finds it there may end it
	return s, t, nil
}

// register has s found by its token. If there is such a session already, that is the
// result; if that lives by something else, or there are too many, an error.
func (m *Manager) register(s *Session) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch same := m.sessions[s.hash]; {
	case same == nil:
	case !same.o.Process.is(s.o.Process):
		return nil, &Error{Code: CodeConflict, Detail: "this request id was used for a session with another proof of life"}
	default:
		return same, nil
	}
	if err := m.roomLocked(s.o); err != nil {
		return nil, err
	}
	m.sessions[s.hash] = s
	m.users[s.o.User]++
	delete(m.ended, s.hash)
	return s, nil
}

func (m *Manager) newSession(h tokenHash, o Options) *Session {
	s := &Session{
		m: m, hash: h, o: o,
		holds: map[holdKey]*Lease{}, waiting: map[holdKey]*pending{}, lost: map[holdKey]*Error{},
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.Touch()
	return s
}

func (m *Manager) checkOptions(o Options) error {
	l := m.cfg.Limits
	switch {
	case o.TTL != 0 && (o.TTL < l.MinTTL || o.TTL > l.MaxTTL):
		return Invalid("ttl", "must be between %v and %v", l.MinTTL, l.MaxTTL)
	case o.Keepalive < 0 || o.Keepalive > l.MaxKeepalive:
		return Invalid("keepalive", "must be between 0 and %v", l.MaxKeepalive)
	case o.MaxHold < 0 || o.MaxHold > longest:
		return Invalid("max_hold", "must be between 0 and %v", longest)
	}
	return nil
}

// Lookup finds the session of a token and counts as a sign of life of it.
// CodeNoSession; CodeSessionEnded, with the reason, for some time after its end.
func (m *Manager) Lookup(t Token) (*Session, error) {
	h := t.hash()
	m.mu.Lock()
	s, e := m.sessions[h], m.ended[h]
	m.mu.Unlock()
	switch {
	case s != nil:
		if err := s.touch(); err != nil {
			return nil, err
		}
		return s, nil
	case e.at != 0:
		return nil, e.why
	default:
		return nil, &Error{Code: CodeNoSession, Detail: "this token belongs to no session; it may have ended long ago"}
	}
}

func endedError(reason string) *Error {
	return &Error{Code: CodeSessionEnded, Detail: "the session has ended: " + reason}
}

// remove forgets a session, but for the reason of its end.
func (m *Manager) remove(s *Session, why *Error) {
	now := m.cfg.Clock()
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, s.hash)
	if m.users[s.o.User]--; m.users[s.o.User] <= 0 {
		delete(m.users, s.o.User)
	}
	looked := 0
	for h, e := range m.ended { // two out for one in: the map follows the rate of ends
		if looked++; looked > 2 {
			break
		}
		if now-e.at > rememberEnded || len(m.ended) > m.cfg.Limits.Sessions {
			delete(m.ended, h)
		}
	}
	m.ended[s.hash] = ended{why, now}
}

func (m *Manager) event(t EventType, l *Lease, reason string) {
	who := l.holder
	who.Since = who.Since.UTC()
	m.publish(Event{
		Type: t, Session: l.s.id, Lock: l.name, Owner: l.owner, Thread: l.thread, Fence: l.fence, Reason: reason, Holder: &who,
	})
}

func (m *Manager) drainingError(lock string) *Error {
	return &Error{Code: CodeDraining, Lock: lock, RetryAfter: 2 * time.Second, Detail: "the gateway is going away; ask again, it may be back soon"}
}

// Drain refuses new sessions and new acquires with CodeDraining and ends every
// wait with it. Holds go on.
func (m *Manager) Drain() { m.drain.Do(func() { close(m.drained) }) }

// Draining is closed by Drain.
func (m *Manager) Draining() <-chan struct{} { return m.drained }

// Close drains, ends every session and waits, until ctx is done, for the store
// to confirm the releases. With Config.KeepHolds the holds stay in the store
// until their leases run out.
func (m *Manager) Close(ctx context.Context) error {
	m.Drain()
	m.closeSessions(ctx)
	empty := make(chan struct{})
	m.mu.Lock()
	if m.closed = true; len(m.places) > 0 && !m.cfg.KeepHolds {
		m.empty = empty
	} else {
		close(empty)
	}
	m.mu.Unlock()
	var err error
	select {
	case <-empty:
	case <-ctx.Done():
		err = errors.New("the store has not confirmed every release; those locks are free when their leases run out")
	}
	for _, p := range m.all() {
		p.abandon()
	}
	m.renewals.stop()
	m.timers.stop()
	m.answers.stop()
	m.wg.Wait()
	m.noteIdle()
	return err
}

func (m *Manager) closeSessions(ctx context.Context) {
	m.mu.Lock()
	all := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		all = append(all, s)
	}
	m.mu.Unlock()
	then := giveBack
	if m.cfg.KeepHolds {
		then = keep
	}
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() { s.close(ctx, "the gateway was stopped", then, nil) })
	}
	wg.Wait()
}

// abandon stops p where it is.
func (p *place) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	p.arm()
}

// Stats of a Manager.
type Stats struct {
	Sessions, Holds, Waiters int
	Answers                  int // that are remembered of requests with a key
}

// Stats counts what there is now.
func (m *Manager) Stats() Stats {
	m.mu.Lock()
	st := Stats{Sessions: len(m.sessions), Answers: m.answers.count()}
	m.mu.Unlock()
	for _, p := range m.all() {
		p.mu.Lock()
		st.Waiters += p.queue.n
		if p.cur != nil {
			st.Holds++
		}
		p.mu.Unlock()
	}
	return st
}

// JournalErr is why what is held would not outlive this process at present; nil: it
// would, or there is no journal.
func (m *Manager) JournalErr() error { return m.cfg.Journal.Err() }

// Ping asks the store whether it can serve requests.
func (m *Manager) Ping(ctx context.Context) error { return m.b.Ping(ctx) }

// Config is the configuration in force, defaults filled in.
func (m *Manager) Config() Config { return m.cfg }

// Info is what the store can promise.
func (m *Manager) Info() backend.Info { return m.b.Info() }
