package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/lockgw/lockgw/backend"
)

// Inspect implements backend.Backend.
func (b *Backend) Inspect(_ context.Context, name string) (backend.Status, error) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if l := b.store.names[name]; l != nil {
		return l.status(), nil
	}
	return backend.Status{Name: name}, nil
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
