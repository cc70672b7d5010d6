package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/history"
	"github.com/lockgw/lockgw/socket/client"
)

// claim is what a caller asks for.
type claim struct {
	name      string
	mode      history.Mode
	wait, ttl time.Duration
	fixed     bool          // HTTP alone: no watchdog
	maxHold   time.Duration // HTTP alone
}

// told is a grant or a renewal as its caller hears of it.
type told struct {
	fence    uint64
	deadline time.Duration
}

// refusal is a clear answer that is no grant; any other error is a broken
// connection.
type refusal struct{ word, text string }

func (e *refusal) Error() string { return e.word + " " + e.text }

// door is one caller's way into a gateway. A door that returned an error other
// than a refusal is used up.
type door interface {
	acquire(ctx context.Context, c claim) (told, error)
	renew(ctx context.Context, c claim) (told, error)
	again(ctx context.Context, c claim) (told, error) // enters and leaves again
	release(ctx context.Context, c claim) error
	lost(fence uint64) time.Duration // when the door was told that the hold is lost, 0: never
	done() <-chan struct{}           // closed when the connection has ended; nil if the session has none
	err() error                      // why it has ended
	close()
}

// socketDoor is a connection to resp.sock.
type socketDoor struct {
	client *client.Client

	mu     sync.Mutex // guards the field below
	losses map[uint64]time.Duration
}

func openSocket(ctx context.Context, g *gateway) (*socketDoor, error) {
	d := &socketDoor{losses: map[uint64]time.Duration{}}
	var err error
	d.client, err = client.Dial(ctx, g.Socket(), client.Options{OnNotice: d.notice})
	return d, err
}

func (d *socketDoor) notice(n client.Notice) {
	if n.Kind != client.Lost {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.losses[n.Fence] = now()
}

func (d *socketDoor) lost(fence uint64) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.losses[fence]
}

func (d *socketDoor) do(ctx context.Context, args ...string) (any, error) {
	v, err := d.client.Do(ctx, args...)
	if e := (*client.Error)(nil); errors.As(err, &e) {
		return nil, &refusal{e.Word, e.Text}
	}
	return v, err
}

func (d *socketDoor) acquire(ctx context.Context, c claim) (told, error) {
	args := []string{"LOCK", c.name, "WAIT", seconds(c.wait), "TTL", seconds(c.ttl), "FULL"}
	switch {
	case c.mode == history.Shared:
		args = append(args, "SHARED")
	case c.mode != history.Exclusive:
		args = append(args, "LIMIT", fmt.Sprint(c.mode.Limit()))
	}
	v, err := d.do(ctx, args...)
	if err != nil {
		return told{}, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return told{}, &refusal{"", "another holds it"}
	}
	fence, _ := m["fence"].(int64)
	deadline, _ := m["valid_until_boottime_ns"].(int64)
	return told{uint64(fence), time.Duration(deadline)}, nil
}

func (d *socketDoor) renew(ctx context.Context, c claim) (told, error) {
	began := now()
	v, err := d.do(ctx, "RENEW", c.name)
	left, _ := v.(int64)
	return told{deadline: began + time.Duration(left)*time.Millisecond}, err
}

func (d *socketDoor) again(ctx context.Context, c claim) (told, error) {
	t, err := d.acquire(ctx, claim{name: c.name, mode: c.mode, ttl: c.ttl})
	if err == nil {
		_, err = d.do(ctx, "UNLOCK", c.name)
	}
	return t, err
}

func (d *socketDoor) release(ctx context.Context, c claim) error {
	_, err := d.do(ctx, "UNLOCK", c.name, "ALL")
	return err
}

func (d *socketDoor) done() <-chan struct{} { return d.client.Done() }
func (d *socketDoor) err() error            { return d.client.Err() }
func (d *socketDoor) close()                { d.client.Close() }

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// httpDoor asks over http.sock; each acquire is a session of its own.
type httpDoor struct {
	client *http.Client
	token  string
}

type httpGrant struct {
	Token     string    `json:"token"`
	Fence     uint64    `json:"fence"`
	Valid     int64     `json:"valid_until_boottime_ns"`
	MaxHoldAt time.Time `json:"max_hold_at"`
}

// query is what a re-entry says, too.
func (c claim) query() url.Values {
	q := url.Values{"ttl": {seconds(c.ttl)}}
	switch {
	case c.mode == history.Shared:
		q.Set("mode", "shared")
	case c.mode != history.Exclusive:
		q.Set("limit", fmt.Sprint(c.mode.Limit()))
	}
	return q
}

func (d *httpDoor) acquire(ctx context.Context, c claim) (told, error) {
	q := c.query()
	q.Set("wait", seconds(c.wait))
	q.Set("max_hold", seconds(c.maxHold))
	if c.fixed {
		q.Set("renew", "false")
	}
	d.token = ""
	g, err := d.grant(ctx, http.MethodPut, c.name+"?"+q.Encode())
	d.token = g.Token
	return told{g.Fence, time.Duration(g.Valid)}, err
}

func (d *httpDoor) renew(ctx context.Context, c claim) (told, error) {
	g, err := d.grant(ctx, http.MethodPost, c.name+"/renew")
	return told{g.Fence, time.Duration(g.Valid)}, err
}

func (d *httpDoor) again(ctx context.Context, c claim) (told, error) {
	g, err := d.grant(ctx, http.MethodPut, c.name+"?"+c.query().Encode())
	if err == nil {
		_, err = d.call(ctx, http.MethodDelete, c.name)
	}
	return told{g.Fence, time.Duration(g.Valid)}, err
}

func (d *httpDoor) release(ctx context.Context, c claim) error {
	_, err := d.call(ctx, http.MethodDelete, c.name+"?all=true")
	return err
}

func (d *httpDoor) lost(uint64) time.Duration { return 0 }
func (d *httpDoor) done() <-chan struct{}     { return nil }
func (d *httpDoor) err() error                { return nil }
func (d *httpDoor) close()                    {}

// grant reads an answer that tells of a hold. Its deadline is not beyond max_hold.
func (d *httpDoor) grant(ctx context.Context, method, rest string) (g httpGrant, err error) {
	body, err := d.call(ctx, method, rest)
	if err != nil {
		return g, err
	}
	if err := json.Unmarshal(body, &g); err != nil {
		return g, fmt.Errorf("answer to %s: %w", method, err)
	}
	if !g.MaxHoldAt.IsZero() {
		g.Valid = min(g.Valid, int64(now()+time.Until(g.MaxHoldAt)))
	}
	return g, nil
}

var httpWords = map[int]string{
	http.StatusLocked: "", http.StatusGone: "LOST", http.StatusServiceUnavailable: "UNAVAILABLE",
	http.StatusForbidden: "NOTHELD", http.StatusUnauthorized: "NOSESSION", http.StatusTooManyRequests: "BUSY",
}

func (d *httpDoor) call(ctx context.Context, method, rest string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://lockgw/v1/locks/"+rest, nil)
	if err != nil {
		return nil, err
	}
	if d.token != "" {
		req.Header.Set("Authorization", "Bearer "+d.token)
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch word, known := httpWords[resp.StatusCode]; {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusAccepted:
		return nil, &refusal{"UNAVAILABLE", string(body)}
	case resp.StatusCode/100 == 2:
		return body, nil
	case known:
		return nil, &refusal{word, strings.TrimSpace(string(body))}
	default:
		return nil, &refusal{fmt.Sprint(resp.StatusCode), string(body)}
	}
}
