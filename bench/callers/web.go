package callers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/lockgw/lockgw/bench/rig"
)

// HTTPPairs are locks and unlocks over http.sock, each caller with a session of
// its own.
func HTTPPairs(g *rig.Gateway, name func(i int) string) func(n int) (Crew, error) {
	return func(n int) (Crew, error) {
		return Connected(n, "unix", g.HTTP, func(i int, w *Wire) (Op, error) {
			token, err := w.OpenSession()
			if err != nil {
				return nil, err
			}
			lock := Request("PUT", "/v1/locks/"+name(i)+"?wait=60s", token, "")
			unlock := Request("DELETE", "/v1/locks/"+name(i), token, "")
			return func() error {
				if _, err := w.Fetch(lock); err != nil {
					return err
				}
				_, err := w.Fetch(unlock)
				return err
			}, nil
		})
	}
}

// Fetches are trivial requests to an HTTP server, as long as a lock's.
func Fetches(path string) func(n int) (Crew, error) {
	return func(n int) (Crew, error) {
		return Connected(n, "unix", path, func(i int, w *Wire) (Op, error) {
			request := Request("PUT", "/v1/locks/"+Own(i)+"?wait=60s", strings.Repeat("x", 43), "")
			return func() error {
				_, err := w.Fetch(request)
				return err
			}, nil
		})
	}
}

// OpenSession opens a session that lives long enough to be measured.
func (w *Wire) OpenSession() (token string, err error) {
	body, err := w.Fetch(Request("POST", "/v1/sessions", "", `{"keepalive":"10m"}`))
	if err != nil {
		return "", err
	}
	return tokenOf(body)
}

func tokenOf(body []byte) (string, error) {
	var answer struct{ Token string }
	err := json.Unmarshal(body, &answer)
	return answer.Token, err
}

// Request makes an HTTP request, to be sent again and again.
func Request(method, path, token, body string) []byte {
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: lockgw\r\n", method, path)
	if token != "" {
		b = fmt.Appendf(b, "Authorization: Bearer %s\r\n", token)
	}
	if body != "" {
		b = fmt.Appendf(b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return append(b, "\r\n"+body...)
}

// Fetch sends a request and reads the answer. Any but a 2xx is an error.
func (w *Wire) Fetch(request []byte) (body []byte, err error) {
	if _, err := w.Write(request); err != nil {
		return nil, err
	}
	return w.Response()
}

// Response reads an answer. Any but a 2xx is an error.
func (w *Wire) Response() (body []byte, err error) {
	status, size := "", 0
	for {
		line, err := w.r.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		if status == "" {
			status = string(line)
			continue
		}
		if key, value, _ := bytes.Cut(line, []byte(": ")); string(key) == "Content-Length" {
			if size, err = strconv.Atoi(string(value)); err != nil {
				return nil, fmt.Errorf("answer with %q", line)
			}
		}
	}
	body = make([]byte, size)
	if _, err := io.ReadFull(w.r, body); err != nil {
		return nil, err
	}
	if _, code, _ := strings.Cut(status, " "); !strings.HasPrefix(code, "2") {
		return nil, refusalIn(code, body)
	}
	return body, nil
}

// refusalIn is an answer that is none of success: its status, code and detail.
func refusalIn(status string, body []byte) error {
	var said struct{ Code, Detail string }
	if json.Unmarshal(body, &said) != nil || said.Code == "" {
		return refusedError(fmt.Sprintf("%s: %s", status, body))
	}
	return refusedError(fmt.Sprintf("%s: %s: %s", status, said.Code, said.Detail))
}
