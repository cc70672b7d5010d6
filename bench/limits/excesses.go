package limits

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockgw/lockgw/bench/callers"
)

// granted asks until an answer is an error, and then wants every name back that was
// granted before.
func granted(w *callers.Wire, most int, ask func(i int) (name string, request []string)) (refusal string, err error) {
	var names []string
	for i := range most {
		name, request := ask(i)
		if _, err := w.Reply(request...); err != nil {
			refusal = callers.RefusalOf(err)
			break
		}
		names = append(names, name)
	}
	for _, name := range names {
		if _, err := w.Reply("UNLOCK", name); err != nil {
			return refusal, fmt.Errorf("it was held: %w", err)
		}
	}
	return refusal, nil
}

func (s *stage) socket(most int, ask func(i int) (name string, request []string)) (string, error) {
	w, err := s.dial(0, s.g.RESP)
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
	{limit: "limits.holds_per_user", user: true, flags: []string{"--limits-holds-per-user", "4"}, exceed: func(s *stage) (string, error) {
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
		return callers.Request("POST", "/v1/sessions", "", `{"name":"`+strings.Repeat("x", 64<<10)+`"}`)
	})},
	{limit: "headers of a request", exceed: tooLarge(func() []byte {
		return []byte("GET /v1/locks HTTP/1.1\r\nHost: lockgw\r\nX-Huge: " + strings.Repeat("x", 32<<10) + "\r\n\r\n")
	})},
	{limit: "URL of a request", exceed: tooLarge(func() []byte { return callers.Request("GET", "/v1/locks/"+strings.Repeat("x", 3<<10), "", "") })},
	{limit: "a bulk string of the socket", exceed: func(s *stage) (string, error) {
		return s.socket(1, func(int) (string, []string) { return "", []string{"LOCK", strings.Repeat("x", 65<<10)} })
	}},
}

// waitInVain has more callers wait for a name than may; those before are still served.
func waitInVain(s *stage) (refusal string, err error) {
	holder, err := s.dial(0, s.g.RESP)
	if err != nil {
		return "", err
	}
	if _, err := holder.Reply("LOCK", "name"); err != nil {
		return "", err
	}
	answers := make(chan error)
	const waiting = 6 // of which 4 may
	for range waiting {
		w, err := s.dial(0, s.g.RESP)
		if err != nil {
			return "", err
		}
		go func() {
			_, err := w.Reply("LOCK", "name", "WAIT", "60")
			if err == nil {
				_, err = w.Reply("UNLOCK", "name")
			}
			answers <- err
		}()
	}
	for range 2 {
		err := <-answers
		if refusal = callers.RefusalOf(err); refusal == "" {
			return "", fmt.Errorf("a waiter above the limit: %w", err)
		}
	}
	if _, err := holder.Reply("UNLOCK", "name"); err != nil {
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
	holder, err := s.dial(0, s.g.RESP)
	if err != nil {
		return "", err
	}
	opener, err := s.dial(1, s.g.HTTP)
	if err != nil {
		return "", err
	}
	token, err := opener.OpenSession()
	if err != nil {
		return "", err
	}
	answers := make(chan error)
	const waiting = 5 // of which 4 may
	for i := range waiting {
		name := "name" + strconv.Itoa(i)
		if _, err := holder.Reply("LOCK", name); err != nil {
			return "", err
		}
		w, err := s.dial(1, s.g.HTTP)
		if err != nil {
			return "", err
		}
		go func() {
			_, err := w.Fetch(callers.Request("PUT", "/v1/locks/"+name+"?wait=60s", token, ""))
			answers <- err
		}()
	}
	refusal := callers.RefusalOf(<-answers)
	for i := range waiting {
		if _, err := holder.Reply("UNLOCK", "name"+strconv.Itoa(i)); err != nil {
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
	w, err := s.dial(user, s.g.HTTP)
	if err != nil {
		return "", err
	}
	var tokens []string
	refusal := ""
	for range most {
		token, err := w.OpenSession()
		if refusal = callers.RefusalOf(err); err != nil {
			break
		}
		tokens = append(tokens, token)
	}
	for _, token := range tokens {
		if _, err := w.Fetch(callers.Request("GET", "/v1/sessions/self", token, "")); err != nil {
			return "", fmt.Errorf("it was open: %w", err)
		}
	}
	return refusal, nil
}

// connectTooOften connects until that is refused; the first connection still holds its name.
func connectTooOften(s *stage) (string, error) {
	first, err := s.dial(0, s.g.RESP)
	if err != nil {
		return "", err
	}
	if _, err := first.Reply("LOCK", "name"); err != nil {
		return "", err
	}
	for range 4200 {
		w, err := s.dial(0, s.g.RESP)
		if err != nil {
			return "", err
		}
		if _, err := w.Reply("PING"); err != nil {
			_, held := first.Reply("UNLOCK", "name")
			return callers.RefusalOf(err), held
		}
	}
	return "", nil
}

// tooLarge sends a request that is too large.
func tooLarge(ask func() []byte) func(s *stage) (string, error) {
	return func(s *stage) (string, error) {
		w, err := s.dial(0, s.g.HTTP)
		if err != nil {
			return "", err
		}
		_, _ = w.Write(ask()) // the gateway need not take all of it
		_, err = w.Response()
		return callers.RefusalOf(err), nil
	}
}
