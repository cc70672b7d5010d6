package engine

import (
	"context"
	"sync"
	"time"
)

// limit bounds requests to the store by contexts that those share which begin at about the same
// time: one of its own costs each a timer and five allocations.
type limit struct {
	timeout time.Duration

	mu     sync.Mutex // guards the fields below
	shared context.Context
	cancel context.CancelFunc // of shared; those before it end by themselves
	made   time.Time          // shared
}

// bound is parent without its end, which is done after the timeout, or up to a twentieth of it
// earlier.
func (l *limit) bound(parent context.Context) context.Context {
	return &bounded{l.current(), context.WithoutCancel(parent)}
}

func (l *limit) current() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.shared == nil || now.Sub(l.made) > l.timeout/20 {
		l.shared, l.cancel = context.WithTimeout(context.Background(), l.timeout)
		l.made = now
	}
	return l.shared
}

func (l *limit) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		l.cancel()
	}
}

// bounded ends as one context, and has the values of another.
type bounded struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (b *bounded) Value(key any) any { return b.values.Value(key) }

// AfterFunc has contexts that are made of b end with it without a goroutine for each, as
// package context looks for it.
func (b *bounded) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(b.Context, f) }
