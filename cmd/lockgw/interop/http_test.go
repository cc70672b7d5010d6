package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// webSession is a session over http.sock that lives by a keepalive.
type webSession struct {
	g     *gateway
	token string
}

func (g *gateway) session(t testing.TB) *webSession {
	t.Helper()
	resp, err := g.HTTP.Post("http://lockgw/v1/sessions", "application/json", strings.NewReader(`{"keepalive":"1m"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var opened struct{ Token string }
	if err := json.NewDecoder(resp.Body).Decode(&opened); err != nil || opened.Token == "" {
		t.Fatalf("open a session: %s, %v", resp.Status, err)
	}
	return &webSession{g, opened.Token}
}

// call returns the status and the fence of the answer.
func (s *webSession) call(method, name, query string) (status int, fence uint64, err error) {
	req, err := http.NewRequest(method, "http://lockgw/v1/locks/"+name+query, nil)
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := s.g.HTTP.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, 0, err
	}
	var a struct{ Fence uint64 }
	return resp.StatusCode, a.Fence, json.Unmarshal(text, &a)
}

func (s *webSession) must(t testing.TB, want int, method, name, query string) {
	t.Helper()
	if got, _, err := s.call(method, name, query); err != nil || got != want {
		t.Fatalf("%s %s%s: status %d, %v, want %d", method, name, query, got, err, want)
	}
}

// withCurl runs f while two calls of curl hold name, as a shell script would.
func (g *gateway) withCurl(name string, f func() error) error {
	curl := func(args ...string) (string, error) {
		out, err := exec.Command("curl", append([]string{"-fsS", "--unix-socket", g.Path("http.sock")}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	url := "http://lockgw/v1/locks/" + name
	token, err := curl("-X", "PUT", "-H", "Accept: text/plain", url+"?wait=60s")
	if err != nil {
		return fmt.Errorf("curl PUT: %w", err)
	}
	if err := f(); err != nil {
		return err
	}
	if _, err := curl("-X", "DELETE", "--oauth2-bearer", token, url); err != nil {
		return fmt.Errorf("curl DELETE: %w", err)
	}
	return nil
}
