package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// httpPairs are locks and unlocks over http.sock, each caller with a session of
// its own.
func httpPairs(g *gateway, name func(i int) string) func(n int) (crew, error) {
	return func(n int) (crew, error) {
		return connected(n, "unix", g.http, func(i int, w *wire) (op, error) {
			token, err := w.openSession()
			if err != nil {
				return nil, err
			}
			lock := request("PUT", "/v1/locks/"+name(i)+"?wait=60s", token, "")
			unlock := request("DELETE", "/v1/locks/"+name(i), token, "")
			return func() error {
				if _, err := w.fetch(lock); err != nil {
					return err
				}
				_, err := w.fetch(unlock)
				return err
			}, nil
		})
	}
}

func (w *wire) openSession() (token string, err error) {
	body, err := w.fetch(request("POST", "/v1/sessions", "", `{"keepalive":"10m"}`))
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

// request makes an HTTP request, to be sent again and again.
func request(method, path, token, body string) []byte {
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: lockgw\r\n", method, path)
	if token != "" {
		b = fmt.Appendf(b, "Authorization: Bearer %s\r\n", token)
	}
	if body != "" {
		b = fmt.Appendf(b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return append(b, "\r\n"+body...)
}

// fetch sends a request and reads the answer. Any but a 2xx is an error.
func (w *wire) fetch(request []byte) (body []byte, err error) {
	if _, err := w.Write(request); err != nil {
		return nil, err
	}
	return w.read()
}

// read reads an answer. Any but a 2xx is an error.
func (w *wire) read() (body []byte, err error) {
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
