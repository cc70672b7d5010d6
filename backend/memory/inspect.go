package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Inspect implements backend.Backend.
func (b *Backend) Inspect(_ context.Context, name string) (backend.Status, error) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	refusing := ""
	if err := b.store.paused(); err != nil {
		refusing = err.Error()
	}
	l := b.store.names[name]
	if l == nil {
		return backend.Status{Name: name, Refusing: refusing}, nil
	}
	st := l.status()
	st.Refusing = refusing
	st.Several = l.several()
	if len(l.queue) > 0 {
		st.Head = backend.HeadTheirs
		if l.queue[0].by.node == b.node.ID {
			st.Head = backend.HeadOurs
		}
	}
	return st, nil
}

// several is those who hold the name together, for Status.
func (l *lock) several() (all []backend.Holding) {
	if !l.held() || l.holds[0].mode == backend.Exclusive {
		return nil
	}
	byFence := slices.SortedFunc(slices.Values(l.holds), func(a, b *hold) int { return cmp.Compare(a.fence, b.fence) })
	for _, h := range byFence[:min(len(byFence), backend.MaxSeveral)] {
		all = append(all, backend.Holding{
			Owner: h.owner, Count: h.count, Node: h.by.node, Fence: max(h.turn, h.fence), TTL: time.Until(h.until), Record: h.record,
		})
	}
	return all
}

// List implements backend.Backend. The cursor is the last name told.
func (b *Backend) List(_ context.Context, prefix, cursor string, limit int) ([]backend.Status, string, error) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	var names []string
	for n, l := range b.store.names {
		if strings.HasPrefix(n, prefix) && n > cursor && (l.held() || len(l.queue) > 0) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	next := ""
	if len(names) > limit {
		names = names[:limit]
		next = names[limit-1]
	}
	out := make([]backend.Status, len(names))
	for i, n := range names {
		out[i] = b.store.names[n].status()
	}
	return out, next, nil
}
