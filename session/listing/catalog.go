package listing

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
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
	place
	state    session.State
	moreWait bool // as in session.Status
}

// place in the order, as a cursor has it.
type place struct {
	Name    string        `json:"n"`
	Holder  string        `json:"h,omitempty"`
	Waiters int           `json:"w,omitempty"`
	Since   int64         `json:"s,omitempty"` // when it was granted, ms of Unix time; 0: unknown
	Until   int64         `json:"u,omitempty"` // when the lease ends, likewise; 0: it has no end, or there is none
	Fence   backend.Fence `json:"f,omitempty"`
}

func listedOf(st session.Status) listed {
	l := listed{place: place{Name: st.Name, Waiters: st.Waiters, Fence: st.Fence}, state: st.State, moreWait: st.MoreWait}
	if h := st.Holder; h != nil {
		l.Holder = strings.TrimSpace(h.Node + " " + h.Command) // of a program outside lockgw neither is known
		if !h.Since.IsZero() {
			l.Since = h.Since.UnixMilli()
		}
	}
	if st.State == session.StateHeld && st.TTL > 0 {
		l.Until = time.Now().Add(st.TTL).UnixMilli()
	}
	return l
}

// cursorAfter is where a list goes on after p. It has to fit into a URL, so < stays one character.
func cursorAfter(p *place) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(p) // never fails with these types
	return base64.RawURLEncoding.EncodeToString(b.Bytes())
}

func parseCursor(cursor string) (*place, error) {
	var p place
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || session.CheckName(p.Name) != nil {
		return nil, session.Invalid("cursor", "is not the next of a page; begin again without one")
	}
	return &p, nil
}

// catalog is all names that begin with a prefix and are held or waited for.
type catalog struct {
	prefix     string
	at         time.Time
	names      []listed
	incomplete string // why names are missing
}

// Lists reads catalogs. Whoever asks gets one whose reading began after that; those
// who ask while one waits for its turn share it.
type Lists struct {
	from  *session.Manager
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

// New makes the Lists of a gateway; it needs one, so that the bounds hold for all who ask.
func New(from *session.Manager) *Lists {
	return &Lists{from: from, turns: make(chan struct{}, scansAtOnce), waiting: map[string]*scan{}}
}

// get is a catalog that is read now, or with kept one that was read a moment ago.
func (l *Lists) get(ctx context.Context, prefix string, kept bool) (*catalog, error) {
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
			l.read(ctx, prefix, s)
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
func (l *Lists) read(ctx context.Context, prefix string, s *scan) {
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
	all, err := l.catalog(ctx, prefix)
	if err != nil && ctx.Err() != nil {
		return
	}
	if s.all, s.err = all, err; err == nil {
		l.keep(all)
	}
}

func (l *Lists) keep(all *catalog) {
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
func (l *Lists) catalog(ctx context.Context, prefix string) (*catalog, error) {
	all := &catalog{prefix: prefix, at: time.Now()}
	patience := 5 * l.from.Config().Timeout
	seen := map[string]bool{}
	for cursor := ""; ; {
		some, next, err := l.from.Scan(ctx, prefix, cursor, listStep)
		switch {
		case errors.Is(err, backend.ErrPartly):
			all.incomplete = err.Error()
		case err != nil:
			return nil, err
		}
		for _, s := range some {
			if seen[s.Name] { // a store may tell it twice
				continue
			}
			seen[s.Name] = true
			if s.State == session.StateHeld || s.Waiters > 0 {
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
