package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

// stockLock is the name that all callers agree on.
const stockLock = "stock"

// A lock lets its caller into the shop. It belongs to one caller.
type lock interface {
	// enter waits until the caller may go in. The fence is 0 where there is none.
	enter(ctx context.Context) (fence uint64, err error)
	leave(ctx context.Context) error
}

// openDoor lets everybody in.
type openDoor struct{}

func (openDoor) enter(context.Context) (uint64, error) { return 0, nil }
func (openDoor) leave(context.Context) error           { return nil }

// mutex keeps out the callers of its own process, and no others.
type mutex struct{ mu *sync.Mutex }

func (m mutex) enter(context.Context) (uint64, error) {
	m.mu.Lock()
	return 0, nil
}

func (m mutex) leave(context.Context) error {
	m.mu.Unlock()
	return nil
}

// socketLock talks to resp.sock through an ordinary Redis client. The
// connection is the session: if the caller dies, the lock is free.
type socketLock struct{ conn *goredis.Client }

func newSocketLock(path string) socketLock {
	return socketLock{goredis.NewClient(&goredis.Options{
		Network: "unix", Addr: path,
		PoolSize:    1,  // a session is one connection
		ReadTimeout: -1, // the answer to LOCK comes when it is our turn
		MaxRetries:  -1,
	})}
}

func (l socketLock) enter(ctx context.Context) (uint64, error) {
	return l.conn.Do(ctx, "LOCK", stockLock, "WAIT", 60).Uint64()
}

func (l socketLock) leave(ctx context.Context) error {
	return l.conn.Do(ctx, "UNLOCK", stockLock).Err()
}

// httpLock talks to http.sock. The answer to the acquire has a token, and
// whoever shows it may release.
type httpLock struct {
	client *http.Client
	token  string
}

type grant struct {
	Token string `json:"token"`
	Fence uint64 `json:"fence"`
}

func (l *httpLock) enter(ctx context.Context) (uint64, error) {
	g, err := l.acquire(ctx, "?wait=60s")
	l.token = g.Token
	return g.Fence, err
}

func (l *httpLock) leave(ctx context.Context) error {
	_, err := l.call(ctx, http.MethodDelete, "", l.token)
	return err
}

func (l *httpLock) acquire(ctx context.Context, query string) (grant, error) {
	body, err := l.call(ctx, http.MethodPut, query, "")
	if err != nil {
		return grant{}, err
	}
	var g grant
	if err := json.Unmarshal(body, &g); err != nil {
		return grant{}, fmt.Errorf("answer to PUT: %w", err)
	}
	return g, nil
}

// call sends one request about the lock. Any answer but a 2xx is an error.
func (l *httpLock) call(ctx context.Context, method, rest, token string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://lockgw/v1/locks/"+stockLock+rest, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return nil, &refused{status: resp.StatusCode, body: string(body)}
	}
	return body, nil
}

// refused is an answer that is not a 2xx.
type refused struct {
	status int
	body   string
}

func (e *refused) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.body) }
