package restarts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// lock is a hold as its holder is told of it.
type lock struct {
	Name  string `json:"name"`
	Owner string `json:"owner"`
	Token string `json:"token"`
	Fence uint64 `json:"fence"`
	Count int    `json:"count"`
	Valid int64  `json:"valid_until_boottime_ns"`
}

func (l lock) deadline() time.Duration { return time.Duration(l.Valid) }

// refusal is a clear answer that is no success. Any other error is no answer.
type refusal struct{ code, text string }

func (e *refusal) Error() string { return e.code + ": " + e.text }

type credentials struct{ token, key string }

type answer struct {
	status int
	body   []byte
}

// call sends one request over http.sock. An error means that there was no answer.
func (g *gateway) call(ctx context.Context, method, path string, c credentials) (answer, error) {
	return g.send(ctx, method, path, "", c)
}

func (g *gateway) send(ctx context.Context, method, path, body string, c credentials) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://lockgw"+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.key != "" {
		req.Header.Set("Idempotency-Key", c.key)
	}
	resp, err := g.HTTP.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, text}, err
}

// ask is call, whose success it reads into v. 503 is no answer: it says to ask
// again.
func (g *gateway) ask(ctx context.Context, method, path, body string, c credentials, v any) error {
	a, err := g.send(ctx, method, path, body, c)
	switch {
	case err != nil:
		return err
	case a.status == http.StatusServiceUnavailable:
		return fmt.Errorf("%s %s: %s", method, path, a.body)
	case a.status/100 != 2:
		var problem struct{ Code, Detail string }
		if err := json.Unmarshal(a.body, &problem); err != nil {
			return err
		}
		return &refusal{problem.Code, fmt.Sprintf("%s %s: %d %s", method, path, a.status, problem.Detail)}
	default:
		return json.Unmarshal(a.body, v)
	}
}

// webDoor is a client's connection to its gateway over http.sock. Without a token each
// acquire opens a session of its own.
type webDoor struct {
	g     *gateway
	token string
	alone bool        // the token is of a session of one lock
	lose  func() bool // says that an answer is to be dropped; nil: never
}

// errUnheard: the answer was lost on its way.
var errUnheard = errors.New("the answer was lost")

// openWeb opens a session that lives as body says.
func openWeb(ctx context.Context, g *gateway, body string) (*webDoor, error) {
	var info struct{ Token string }
	err := g.ask(ctx, http.MethodPost, "/v1/sessions", body, credentials{}, &info)
	return &webDoor{g: g, token: info.Token}, err
}

func (d *webDoor) acquire(ctx context.Context, name, key string, wait time.Duration) (l lock, err error) {
	q := url.Values{"wait": {fmt.Sprint(wait.Seconds())}}
	err = d.g.ask(ctx, http.MethodPut, "/v1/locks/"+name+"?"+q.Encode(), "", credentials{d.token, key}, &l)
	switch {
	case err != nil:
	case d.lose != nil && d.lose():
		return lock{}, errUnheard
	case d.token == "":
		d.token, d.alone = l.Token, true
	}
	return l, err
}

func (d *webDoor) release(ctx context.Context, name, key string) (int, error) {
	var left struct{ Count int }
	err := d.g.ask(ctx, http.MethodDelete, "/v1/locks/"+name, "", credentials{d.token, key}, &left)
	switch {
	case err != nil:
	case d.lose != nil && d.lose():
		return 0, errUnheard
	case left.Count == 0 && d.alone:
		d.token, d.alone = "", false
	}
	return left.Count, err
}

func (d *webDoor) renew(ctx context.Context, name string) error {
	return d.g.ask(ctx, http.MethodPost, "/v1/locks/"+name+"/renew", "", credentials{token: d.token}, &lock{})
}

func (d *webDoor) locks(ctx context.Context) ([]lock, error) {
	var info struct{ Locks []lock }
	err := d.g.ask(ctx, http.MethodGet, "/v1/sessions/self", "", credentials{token: d.token}, &info)
	return info.Locks, err
}

func (d *webDoor) end(ctx context.Context) error {
	if d.token == "" {
		return nil
	}
	var released struct{}
	return d.g.ask(ctx, http.MethodDelete, "/v1/sessions/self", "", credentials{token: d.token}, &released)
}
