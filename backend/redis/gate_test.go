package redis

import (
	"context"
	"sync"
)

// server is what a Redis server says of its eviction.
type server struct {
	mu       sync.Mutex // guards the fields below
	eviction Eviction
	err      error
	asked    int
}

func (s *server) ask(context.Context) (Eviction, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.eviction, s.err
}

func (s *server) says(e Eviction, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eviction, s.err = e, err
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

var (
	safe     = Eviction{Policy: "noeviction", MaxMemory: 1}
	dropping = Eviction{Policy: "allkeys-lru", MaxMemory: 1}
)
