package session

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/engine"
)

const (
	// maxListed bounds what a list costs this process, at some 200 bytes a name.
	maxListed = 100_000
	listStep  = 1000 // names that a store is asked for at once
	// keepListed is for how long the pages after the first may be of what was read for
	// the first.
	keepListed = 10 * time.Second
	// scansAtOnce bounds what lists cost the store.
	scansAtOnce = 2
)

// listed is what List has to know of a name that is not on the page.
type listed struct {
	name    string
	state   State
	holder  string
	waiters int
	since   int64 // when it was granted, ms of Unix time; 0: unknown
	until   int64 // when the lease ends, likewise; 0: it has no end, or there is none
	fence   backend.Fence
}

func listedOf(st Status) listed {
	l := listed{name: st.Name, state: st.State, waiters: st.Waiters, fence: st.Fence}
	if h := st.Holder; h != nil {
		l.holder = h.Node + " " + h.Command
		if !h.Since.IsZero() {
			l.since = h.Since.UnixMilli()
		}
	}
	if st.State == StateHeld && st.TTL > 0 {
		l.until = time.Now().Add(st.TTL).UnixMilli()
	}
	return l
}

// place in the order, as a cursor has it.
type listPlace struct {
	Name    string        `json:"n"`
	Holder  string        `json:"h,omitempty"`
	Waiters int           `json:"w,omitempty"`
	Since   int64         `json:"s,omitempty"`
	Until   int64         `json:"u,omitempty"`
	Fence   backend.Fence `json:"f,omitempty"`
}

// cursorAfter is where a list goes on after l.
func cursorAfter(l *listed) string {
	b, err := json.Marshal(listPlace{l.name, l.holder, l.waiters, l.since, l.until, l.fence})
	if err != nil { // not with these types
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseCursor(cursor string) (*listed, error) {
	var p listPlace
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || CheckName(p.Name) != nil {
		return nil, Invalid("cursor", "is not the next of a page; begin again without one")
	}
	return &listed{name: p.Name, holder: p.Holder, waiters: p.Waiters, since: p.Since, until: p.Until, fence: p.Fence}, nil
}

// catalog is all names that begin with a prefix and are held or waited for.
type catalog struct {
	prefix     string
	at         time.Time
	names      []listed
	incomplete string // why names are missing
}

// lists reads catalogs. Whoever asks gets one whose reading began after that; those
// who ask while one waits for its turn share it.
type lists struct {
	turns chan struct{} // has one for each that is being read

	mu      sync.Mutex       // guards the fields below
	waiting map[string]*scan // by prefix; not begun yet
	last    *catalog         // the newest, for the pages after the first
}

type scan struct {
	done chan struct{}
	all  *catalog
	err  error
}

// errLeft: the one who was to read it has gone away.
var errLeft = errors.New("nobody reads it")

func newLists() lists {
	return lists{turns: make(chan struct{}, scansAtOnce), waiting: map[string]*scan{}}
}

// get is a catalog that is read now, or with kept one that was read a moment ago.
func (l *lists) get(ctx context.Context, m *Manager, prefix string, kept bool) (*catalog, error) {
	for {
		l.mu.Lock()
		if last := l.last; kept && last != nil && last.prefix == prefix && time.Since(last.at) < keepListed {
			l.mu.Unlock()
			return last, nil
		}
		s := l.waiting[prefix]
		if s == nil {
			s = &scan{done: make(chan struct{}), err: errLeft}
			l.waiting[prefix] = s
			l.mu.Unlock()
			l.read(ctx, m, prefix, s)
			if errors.Is(s.err, errLeft) {
				return nil, ctx.Err()
			}
			return s.all, s.err
		}
		l.mu.Unlock()
		select {
		case <-s.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !errors.Is(s.err, errLeft) {
			return s.all, s.err
		}
	}
}

// read waits for its turn; from then on nobody else joins.
func (l *lists) read(ctx context.Context, m *Manager, prefix string, s *scan) {
	defer close(s.done)
	begin := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiting, prefix)
	}
	select {
	case l.turns <- struct{}{}:
		defer func() { <-l.turns }()
		begin()
	case <-ctx.Done():
		begin()
		return
	}
	all, err := m.catalog(ctx, prefix)
	if err != nil && ctx.Err() != nil {
		return
	}
	if s.all, s.err = all, err; err == nil {
		l.keep(all)
	}
}

func (l *lists) keep(all *catalog) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = all
	time.AfterFunc(keepListed, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.last == all {
			l.last = nil
		}
	})
}

// catalog asks the store for all names that begin with prefix.
func (m *Manager) catalog(ctx context.Context, prefix string) (*catalog, error) {
	all := &catalog{prefix: prefix, at: time.Now()}
	patience := 5 * m.cfg.Timeout
	seen := map[string]bool{}
	for cursor := ""; ; {
		rows, next, err := m.listStep(ctx, prefix, cursor)
		switch {
		case errors.Is(err, backend.ErrPartly):
			all.incomplete = err.Error()
		case err != nil:
			return nil, err
		}
		for _, row := range rows {
			if seen[row.Name] { // a store may tell it twice
				continue
			}
			seen[row.Name] = true
			s := m.statusOf(row.Name, &engine.Answer{Reply: row.Reply})
			if s.State == StateHeld || s.Waiters > 0 {
				all.names = append(all.names, listedOf(s))
			}
		}
		if cursor = next; cursor == "" {
			return all, nil
		}
		switch {
		case len(all.names) >= maxListed:
			all.incomplete = fmt.Sprintf("there are more than %d names; ask for those that begin alike (prefix)", maxListed)
			return all, nil
		case time.Since(all.at) > patience:
			all.incomplete = fmt.Sprintf("the store has told of %d names in %v and has more; ask for those that begin alike (prefix)",
				len(all.names), patience)
			return all, nil
		}
	}
}

func (m *Manager) listStep(ctx context.Context, prefix, cursor string) ([]ledger.Named, string, error) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	return m.store.List(ctx, prefix, cursor, listStep)
}
