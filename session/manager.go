package session

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/answers"
	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
	"github.com/lockgw/lockgw/session/events"
	"github.com/lockgw/lockgw/session/journal"
)

// Manager is the registry of sessions and of the names they hold or wait for.
type Manager struct {
	store   ledger.Table
	engine  *engine.Engine
	cfg     Config
	drained context.Context // done by Drain
	drain   context.CancelFunc
	wg      sync.WaitGroup // every goroutine that the Manager started
	index   sessionIndex
	answers *answers.Book
	holding holding
	losses  logged
	events  *events.Bus[Event]
	pings   pings

	mu        sync.Mutex // guards the fields below; nothing of this package is locked under it
	sessions  map[tokenHash]*Session
	keyed     map[string]*Session // those that a key has opened, by that
	users     map[string]int      // how many of them each user has
	cleared   time.Duration       // when idle sessions were looked for
	ended     map[tokenHash]ended
	journaled map[string]struct{} // the journal says that they may be in the store, and they are not
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
	maxJournaled  = 1 << 10
	// offer is how long the store keeps a name for a node that has to take it.
	offer = time.Second
)

// New makes a Manager over a store, with what Config.Past says that there was. Close it
// before the store.
func New(store ledger.Table, cfg Config) *Manager {
	m := &Manager{
		store: store, cfg: cfg.withDefaults(), events: events.New[Event](),
		sessions: map[tokenHash]*Session{}, keyed: map[string]*Session{}, users: map[string]int{},
		ended: map[tokenHash]ended{}, journaled: map[string]struct{}{},
	}
	m.drained, m.drain = context.WithCancel(context.Background())
	or(&m.cfg.Store, store.Info().Type)
	if most := store.Info().MaxTTL; most > 0 {
		m.cfg.Limits.MaxTTL = min(m.cfg.Limits.MaxTTL, most)
	}
	m.engine = engine.New(store, owner{m}, m.cfg.engine(store))
	m.answers = answers.New(answers.Limits{PerUser: m.cfg.Limits.AnswersPerUser, All: m.cfg.Limits.Answers}, m.cfg.Clock, forget)
	past := m.cfg.Past
	m.cfg.Past = journal.State{Secret: past.Secret} // the rest is large, and of no use afterwards
	sessions := m.restore(past)
	m.engine.Recovered()
	resumeAll(past, sessions)
	return m
}

// engine is what an Engine has to know of the configuration.
func (c *Config) engine(store ledger.Table) engine.Config {
	info := store.Info()
	return engine.Config{
		Config: contender.Config{
			Node: store.Node(), Turns: c.Fairness.MaxTurns, TurnTime: c.Fairness.MaxTurnTime, Strict: c.Fairness.Strict,
			Exact: c.Fairness.ExactOwner, Retain: c.Fairness.Retain, Recall: engine.AskTime, Offer: offer, Delay: c.Delay, Margin: Margin,
			Retry: 20 * time.Millisecond, RetryMost: time.Second, MostWaiting: c.Limits.WaitersPerLock,
			Restores: info.Restores || !info.Shared, // one that ends with the process has to be told of all holds
		},
		Recovers: true, Timeout: c.Timeout, Idle: maxJournaled, Clock: c.Clock, Alarm: c.alarm(),
	}
}

// Open makes a session. CodeTooManySessions, CodeDraining, CodeInvalid; CodeConflict
// for a Key whose session lives by another process, or by none.
func (m *Manager) Open(o Options) (*Session, Token, error) {
	if err := m.checkOptions(o); err != nil {
		return nil, "", err
	}
	t, id := newToken(), uuid.NewString()
	if o.Key != "" {
		t = m.tokenFor(id, o)
	}
	s := m.newSession(t.hash(), o)
	s.id, s.uuid, s.key, s.since = uuid.NewString()[:idLength], id, m.keyOf(o), time.Now()
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
		return same, m.tokenFor(same.uuid, o), nil
	}
	s.live()
	return s, t, nil
}

// register has s found by its token. If its key has a session already, that is the
// result; if that lives by something else, or there are too many, an error. Close ends the
// sessions that there are after Drain, so none may be added after that.
func (m *Manager) register(s *Session) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.drained.Err() != nil {
		return nil, m.drainingError("")
	}
	switch same := m.keyed[s.key]; {
	case same == nil:
	case !same.o.Process.is(s.o.Process):
		return nil, &Error{Code: CodeConflict, Detail: "this request id was used for a session with another proof of life"}
	default:
		return same, nil
	}
	if err := m.roomLocked(s.o); err != nil {
		return nil, err
	}
	m.cfg.Journal.Opened(s.entry()) // who finds it may end it: that has to come after this
	m.addLocked(s)
	return s, nil
}

// addLocked has s found and counted.
func (m *Manager) addLocked(s *Session) {
	m.sessions[s.hash] = s
	m.users[s.o.User]++
	if s.key != "" {
		m.keyed[s.key] = s
	}
	m.index.add(s)
}

func (m *Manager) newSession(h tokenHash, o Options) *Session {
	s := &Session{m: m, hash: h, o: o}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.Touch()
	return s
}

func (m *Manager) checkOptions(o Options) error {
	l := m.cfg.Limits
	switch {
	case o.TTL != 0 && (o.TTL < l.MinTTL || o.TTL > l.MaxTTL):
		return Invalid("ttl", "must be between %v and %v (limits.min_ttl, limits.max_ttl)", l.MinTTL, l.MaxTTL)
	case o.Keepalive < 0 || o.Keepalive > l.MaxKeepalive:
		return Invalid("keepalive", "must be between 0 and %v (limits.max_ttl)", l.MaxKeepalive)
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

// remove forgets a session, but for the reason of its end. The next process has it if it is
// kept.
func (m *Manager) remove(s *Session, why *Error, kept bool) {
	now := m.cfg.Clock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !kept { // before there can be another one with its key
		m.cfg.Journal.Closed(s.id)
	}
	m.index.drop(s)
	delete(m.sessions, s.hash)
	delete(m.keyed, s.key)
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

func (m *Manager) drainingError(lock string) *Error {
	return &Error{Code: CodeDraining, Lock: lock, RetryAfter: 2 * time.Second, Detail: "the gateway is going away; ask again, it may be back soon"}
}

// Drain refuses new sessions and new acquires with CodeDraining and ends every
// wait with it. Holds go on.
func (m *Manager) Drain() {
	m.drain()
	for _, s := range m.all() {
		s.pokeAll()
	}
}

// Draining is closed by Drain.
func (m *Manager) Draining() <-chan struct{} { return m.drained.Done() }

// IsDraining tells whether Draining is closed.
func (m *Manager) IsDraining() bool { return m.drained.Err() != nil }

// Close drains, ends every session and waits, until ctx is done, for the store
// to confirm the releases. With Config.KeepHolds the holds stay in the store
// until their leases run out; so does, in any case, what min_hold keeps. Nobody calls it
// while another call is under way.
func (m *Manager) Close(ctx context.Context) error {
	m.Drain()
	m.closeSessions(ctx)
	var err error
	if m.cfg.KeepHolds {
		m.engine.Abandon()
	} else {
		err = m.engine.Close(ctx)
	}
	m.answers.Stop()
	m.wg.Wait()
	m.noteIdle()
	return err
}

// all are the sessions that there are now.
func (m *Manager) all() []*Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.sessions))
}

func (m *Manager) closeSessions(ctx context.Context) {
	then := giveBack
	if m.cfg.KeepHolds {
		then = keep
	}
	var wg sync.WaitGroup
	for _, s := range m.all() {
		wg.Go(func() { s.close(ctx, "the gateway was stopped", then, nil) })
	}
	wg.Wait()
}
