package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"
)

// Get asks the gateway over HTTP what resp.sock has no command for, and decodes the answer
// into v. It uses the http.sock beside resp.sock. The path has a query if it needs one. Its
// error has the exit code for a command.
func (g Gateway) Get(ctx context.Context, path string, v any) error {
	response, file, err := g.ask(ctx, path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return problemError(response)
	}
	return GatewayError(file, json.NewDecoder(response.Body).Decode(v))
}

// GetAny is Get for answers that have a body with every status, as those of /readyz.
func (g Gateway) GetAny(ctx context.Context, path string, v any) error {
	response, file, err := g.ask(ctx, path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return GatewayError(file, json.NewDecoder(response.Body).Decode(v))
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// ask returns the answer with its body read, and the socket that it came from.
func (g Gateway) ask(ctx context.Context, path string) (response *http.Response, file string, err error) {
	ctx, cancel := context.WithTimeout(ctx, AnswerTimeout)
	defer cancel()
	respPath, err := g.Path()
	if err != nil {
		return nil, "", err
	}
	if noSocket(respPath) { // there may be a gateway beside it, which is not the one that is meant
		return nil, "", Exit(ExitUsage, noSocketError(respPath))
	}
	file = filepath.Join(filepath.Dir(respPath), HTTPSocket)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://lockgw"+path, nil)
	if err != nil {
		return nil, file, err
	}
	request.Close = true
	nc, err := (&net.Dialer{Timeout: DialTimeout}).DialContext(ctx, "unix", file)
	if err != nil {
		return nil, file, GatewayError(file, unheard{err})
	}
	defer nc.Close()
	defer context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })() // what waits fails
	response, err = exchange(nc, request)
	if err != nil {
		return nil, file, GatewayError(file, unheard{cmp.Or(ctx.Err(), err)})
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, file, GatewayError(file, cmp.Or(ctx.Err(), err))
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, file, nil
}

// exchange sends the one request of a connection. A gateway that refuses the connection says why and
// hangs up without waiting for it: the request may find nobody then, and the answer is there all the
// same, which net/http's own client would take for none.
func exchange(nc net.Conn, request *http.Request) (*http.Response, error) {
	unsent := request.Write(nc)
	response, err := http.ReadResponse(bufio.NewReader(nc), request)
	if err != nil {
		return nil, cmp.Or(unsent, err)
	}
	return response, nil
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
