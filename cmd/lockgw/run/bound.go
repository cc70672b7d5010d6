package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"syscall"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session"
)

// openBound opens a session that lives as long as the process pid, whatever
// becomes of connections. Only HTTP has words for it: http.sock stands beside
// path, that of resp.sock. No token and no error: this gateway cannot watch the
// process, as from a container with process ids of its own, and the session has
// to live by its connection.
func openBound(ctx context.Context, path string, pid int) (session.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.DialTimeout)
	defer cancel()
	path = filepath.Join(filepath.Dir(path), cli.HTTPSocket)
	answer, err := postSession(ctx, path, pid)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return "", nil // if there is no gateway at all, resp.sock is the path to name
	case err != nil:
		return "", cli.Exit(cli.ExitUnavailable, cli.ConnectionError(path, err))
	case answer.status == http.StatusCreated:
		return session.Token(answer.Token), nil
	case answer.Code == session.CodeInvalid, answer.Code == session.CodeUnsupported:
		return "", nil
	default:
		return "", cli.Exit(answer.exitCode(), fmt.Errorf("the gateway refused a session: %s: %s", answer.Code, answer.Detail))
	}
}

// sessionAnswer is a session or a problem.
type sessionAnswer struct {
	status int
	Token  string       `json:"token"`
	Code   session.Code `json:"code"`
	Detail string       `json:"detail"`
}

// ExitCode is that of `run` after the same refusal over resp.sock.
func (a sessionAnswer) exitCode() int {
	switch {
	case a.status == http.StatusServiceUnavailable:
		return cli.ExitUnavailable
	case a.status == http.StatusTooManyRequests:
		return cli.ExitNotAcquired
	default:
		return cli.ExitFailed
	}
}

func postSession(ctx context.Context, path string, pid int) (a sessionAnswer, err error) {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(map[string]any{"bind": map[string]int{"pid": pid}}); err != nil {
		return a, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://lockgw/v1/sessions", &body)
	if err != nil {
		return a, err
	}
	request.Header.Set("Content-Type", "application/json")
	unix := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	response, err := unix.RoundTrip(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	a.status = response.StatusCode
	return a, json.NewDecoder(response.Body).Decode(&a)
}
