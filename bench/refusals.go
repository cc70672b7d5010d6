package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const refusedGroup = "beyond a limit"

// overdone is somebody who goes beyond one limit of a gateway of its own.
type overdone struct {
	limit string   // as docs/configuration.md names it, or in words
	flags []string // of the gateway
	user  bool     // counts for users who are no administrators alone
	// exceed returns the refusal, as the gateway has said it; "": it was not refused.
	exceed func(s *stage) (refusal string, err error)
}

// stage is where a limit is exceeded, by one user and more of them.
type stage struct {
	g     *gateway
	users []*dialer
	open  []io.Closer
}

// dial connects as one of the users.
func (s *stage) dial(user int, path string) (*wire, error) {
	for len(s.users) <= user {
		s.users = append(s.users, newDialer(otherUser+len(s.users)))
	}
	w, err := s.users[user].dial(path)
	if err == nil {
		s.open = append(s.open, w)
	}
	return w, err
}

func (s *stage) close() {
	for _, c := range s.open {
		_ = c.Close()
	}
}

// refusals shows what a caller is told at each limit. It is an error if that is nothing, or
// if it costs anybody, that caller included, what was held before.
func refusals(ctx context.Context, r *rig, _ plan, t *table) error {
	for _, o := range overdones {
		if o.user && !severalUsers() {
			t.note(refusedGroup, o.limit, 0, 0, "not measured: it needs root, who can be several users")
			continue
		}
		if err := r.exceed(ctx, t, o); err != nil {
			return fmt.Errorf("%s: %w", o.limit, err)
		}
	}
	return nil
}

func (r *rig) exceed(ctx context.Context, t *table, o overdone) error {
	g, err := r.another(ctx, "redis://"+r.addr, o.flags...)
	if err != nil {
		return err
	}
	h, err := newKeeper(g)
	if err != nil {
		return err
	}
	defer h.close()
	s := &stage{g: g}
	defer s.close()
	said, err := o.exceed(s)
	if err == nil && said == "" {
		err = errors.New("not refused")
	}
	if err := errors.Join(err, h.keeps()); err != nil {
		return err
	}
	t.note(refusedGroup, o.limit, 0, 0, "%s", said)
	return r.stopGateway(g)
}

// granted asks until an answer is an error, and then wants every name back that was
// granted before.
func granted(w *wire, most int, ask func(i int) (name string, request []string)) (refusal string, err error) {
	var names []string
	for i := range most {
		name, request := ask(i)
		if _, err := w.reply(request...); err != nil {
			refusal = refusalOf(err)
			break
		}
		names = append(names, name)
	}
	for _, name := range names {
		if _, err := w.reply("UNLOCK", name); err != nil {
			return refusal, fmt.Errorf("it was held: %w", err)
		}
	}
	return refusal, nil
}

// refusedError is what a gateway has answered.
type refusedError string

func (e refusedError) Error() string { return string(e) }

// refusalOf is the answer that err is; "": it is something else.
func refusalOf(err error) string {
	var e refusedError
	errors.As(err, &e)
	return string(e)
}

func (s *stage) socket(most int, ask func(i int) (name string, request []string)) (string, error) {
	w, err := s.dial(0, s.g.resp)
	if err != nil {
		return "", err
	}
	return granted(w, most, ask)
}

func numbered(words ...string) func(i int) (string, []string) {
	return func(i int) (string, []string) {
		name := "name" + strconv.Itoa(i)
		return name, append([]string{"LOCK", name}, words...)
	}
}

var overdones = []overdone{
	{limit: "limits.holds_per_session", flags: []string{"--limits-holds-per-session", "4"}, exceed: func(s *stage) (string, error) {
		return s.socket(6, numbered())
	}},
	{limit: "limits.entries_per_hold", flags: []string{"--limits-entries-per-hold", "4"}, exceed: func(s *stage) (string, error) {
		return s.socket(6, func(int) (string, []string) { return "name", []string{"LOCK", "name"} })
	}},
	{limit: "limits.min_ttl", exceed: func(s *stage) (string, error) { return s.socket(1, numbered("TTL", "0.5")) }},
	{limit: "limits.max_ttl", exceed: func(s *stage) (string, error) { return s.socket(1, numbered("TTL", "90000")) }},
	{limit: "lock.max_wait", exceed: func(s *stage) (string, error) { return s.socket(1, numbered("WAIT", "301")) }},
	{limit: "limits.answers_per_user", flags: []string{"--limits-answers-per-user", "4"}, exceed: func(s *stage) (string, error) {
		return s.socket(6, func(i int) (string, []string) {
			name := "name" + strconv.Itoa(i)
			return name, []string{"LOCK", name, "REQ", name}
		})
	}},
	{limit: "limits.requests_per_second", user: true, flags: []string{"--limits-requests-per-second", "10", "--limits-request-burst", "10"}, exceed: func(s *stage) (string, error) {
		return s.socket(100, numbered())
	}},
	{limit: "limits.waiters_per_lock", flags: []string{"--limits-waiters-per-lock", "4"}, exceed: waitInVain},
	{limit: "limits.waits_per_session", flags: []string{"--limits-waits-per-session", "4"}, exceed: waitTooOften},
	{limit: "limits.sessions_per_user", user: true, flags: []string{"--limits-sessions-per-user", "8"}, exceed: func(s *stage) (string, error) {
		return s.openSessions(1, 10)
	}},
	{limit: "limits.sessions", flags: []string{"--limits-sessions", "20"}, exceed: func(s *stage) (string, error) { return s.openSessions(1, 30) }},
	{limit: "connections to resp.sock of one user", exceed: connectTooOften},
	{limit: "body of a request", exceed: tooLarge(func() []byte {
		return request("POST", "/v1/sessions", "", `{"name":"`+strings.Repeat("x", 64<<10)+`"}`)
	})},
	{limit: "headers of a request", exceed: tooLarge(func() []byte {
		return []byte("GET /v1/locks HTTP/1.1\r\nHost: lockgw\r\nX-Huge: " + strings.Repeat("x", 32<<10) + "\r\n\r\n")
	})},
	{limit: "URL of a request", exceed: tooLarge(func() []byte { return request("GET", "/v1/locks/"+strings.Repeat("x", 3<<10), "", "") })},
	{limit: "a bulk string of the socket", exceed: func(s *stage) (string, error) {
		return s.socket(1, func(int) (string, []string) { return "", []string{"LOCK", strings.Repeat("x", 65<<10)} })
	}},
}

// waitInVain has more callers wait for a name than may; those before are still served.
func waitInVain(s *stage) (refusal string, err error) {
	holder, err := s.dial(0, s.g.resp)
	if err != nil {
		return "", err
	}
	if _, err := holder.reply("LOCK", "name"); err != nil {
		return "", err
	}
	answers := make(chan error)
	const waiting = 6 // of which 4 may
	for range waiting {
		w, err := s.dial(0, s.g.resp)
		if err != nil {
			return "", err
		}
		go func() {
			_, err := w.reply("LOCK", "name", "WAIT", "60")
			if err == nil {
				_, err = w.reply("UNLOCK", "name")
			}
			answers <- err
		}()
	}
	for range 2 {
		err := <-answers
		if refusal = refusalOf(err); refusal == "" {
			return "", fmt.Errorf("a waiter above the limit: %w", err)
		}
	}
	if _, err := holder.reply("UNLOCK", "name"); err != nil {
		return "", err
	}
	for range waiting - 2 {
		if err := <-answers; err != nil {
			return "", fmt.Errorf("a waiter within the limit: %w", err)
		}
	}
	return refusal, nil
}

// waitTooOften has one session wait for more names than it may.
func waitTooOften(s *stage) (string, error) {
	holder, err := s.dial(0, s.g.resp)
	if err != nil {
		return "", err
	}
	opener, err := s.dial(1, s.g.http)
	if err != nil {
		return "", err
	}
	token, err := opener.openSession()
	if err != nil {
		return "", err
	}
	answers := make(chan error)
	const waiting = 5 // of which 4 may
	for i := range waiting {
		name := "name" + strconv.Itoa(i)
		if _, err := holder.reply("LOCK", name); err != nil {
			return "", err
		}
		w, err := s.dial(1, s.g.http)
		if err != nil {
			return "", err
		}
		go func() {
			_, err := w.fetch(request("PUT", "/v1/locks/"+name+"?wait=60s", token, ""))
			answers <- err
		}()
	}
	refusal := refusalOf(<-answers)
	for i := range waiting {
		if _, err := holder.reply("UNLOCK", "name"+strconv.Itoa(i)); err != nil {
			return "", err
		}
	}
	for range waiting - 1 {
		if err := <-answers; err != nil {
			return "", fmt.Errorf("a wait within the limit: %w", err)
		}
	}
	return refusal, nil
}

// openSessions opens sessions until that is refused; those before still stand.
func (s *stage) openSessions(user, most int) (string, error) {
	w, err := s.dial(user, s.g.http)
	if err != nil {
		return "", err
	}
	var tokens []string
	refusal := ""
	for range most {
		token, err := w.openSession()
		if refusal = refusalOf(err); err != nil {
			break
		}
		tokens = append(tokens, token)
	}
	for _, token := range tokens {
		if _, err := w.fetch(request("GET", "/v1/sessions/self", token, "")); err != nil {
			return "", fmt.Errorf("it was open: %w", err)
		}
	}
	return refusal, nil
}

// connectTooOften connects until that is refused; the first connection still holds its name.
func connectTooOften(s *stage) (string, error) {
	first, err := s.dial(0, s.g.resp)
	if err != nil {
		return "", err
	}
	if _, err := first.reply("LOCK", "name"); err != nil {
		return "", err
	}
	for range 4200 {
		w, err := s.dial(0, s.g.resp)
		if err != nil {
			return "", err
		}
		if _, err := w.reply("PING"); err != nil {
			_, held := first.reply("UNLOCK", "name")
			return refusalOf(err), held
		}
	}
	return "", nil
}

// tooLarge sends a request that is too large.
func tooLarge(ask func() []byte) func(s *stage) (string, error) {
	return func(s *stage) (string, error) {
		w, err := s.dial(0, s.g.http)
		if err != nil {
			return "", err
		}
		_, _ = w.Write(ask()) // the gateway need not take all of it
		_, err = w.read()
		return refusalOf(err), nil
	}
}
