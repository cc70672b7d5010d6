package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"
)

// askTimeout bounds how long the gateway may take for an answer over HTTP.
const askTimeout = 30 * time.Second

// Get asks the gateway over HTTP what only HTTP has words for, and decodes the answer
// into v: http.sock stands beside resp.sock. The path has a query if it needs one.
// Its error is that of a command.
func (g Gateway) Get(ctx context.Context, path, token string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	respPath, err := g.Path()
	if err != nil {
		return err
	}
	file := filepath.Join(filepath.Dir(respPath), HTTPSocket)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://lockgw"+path, nil)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	unix := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: DialTimeout}).DialContext(ctx, "unix", file)
	}}
	response, err := unix.RoundTrip(request)
	if err != nil {
		return Exit(ExitUnavailable, ConnectionError(file, err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return problemError(response)
	}
	if err := json.NewDecoder(response.Body).Decode(v); err != nil {
		return Exit(ExitUnavailable, ConnectionError(file, err))
	}
	return nil
}

// problemError is the error for an answer that is none, with the exit code of the same
// refusal over resp.sock.
func problemError(response *http.Response) error {
	var p struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	if err := json.NewDecoder(response.Body).Decode(&p); err != nil || p.Code == "" {
		return Exit(ExitFailed, errors.New("the gateway answered "+response.Status))
	}
	code := ExitRefused
	switch response.StatusCode {
	case http.StatusServiceUnavailable:
		code = ExitUnavailable
	case http.StatusBadRequest, http.StatusNotImplemented:
		code = ExitUsage
	case http.StatusTooManyRequests:
		code = ExitNotAcquired
	case http.StatusNotFound: // of an older version
		return Exit(ExitUsage, errors.New("this gateway does not know that yet: it is of an older version than this command"))
	}
	return Exit(code, fmt.Errorf("the gateway refused: %s: %s", p.Code, p.Detail))
}
