package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// Whatever JSON a client sends, wherever a body is taken: it is carried out or refused with
// a problem, and the gateway goes on.
func FuzzBody(f *testing.F) {
	paths := []string{"PUT /v1/locks/a", "POST /v1/locks/a/renew", "POST /v1/multilocks", "DELETE /v1/multilocks", "POST /v1/sessions", "POST /v1/sessions/self/keepalive", "DELETE /v1/locks/a"}
	for i, body := range []string{
		`{"ttl":"30s","wait":0,"note":"x","thread":2,"metadata":{"a":"b"}}`, `{"ttl":5}`, `{"locks":["a","b"],"wait":"1s","shared":true}`, `{"locks":[{"name":"a"}]}`,
		`{"name":"x","keepalive":"10s","bind":"pid:1","max_hold":"1h"}`, `{}`, `{"fence":1,"force":true,"limit":3}`, `[1]`, `{"ttl":1e309}`, `{"ttl":"9999999d"}`, `{"a":1,"a":2}`,
	} {
		f.Add(uint8(i), []byte(body))
	}
	s := newStore()
	m := session.New(s, session.Config{Node: "host-a", Limits: session.Limits{MaxWait: 20 * time.Millisecond, Sessions: 1000}})
	srv := NewServer(New(Config{Manager: m, Version: "1.2.3"}))
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	ln := Listening{Log: slog.New(slog.DiscardHandler)}.Listen(tcp)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	tr := &http.Transport{DisableCompression: true}
	f.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = m.Close(context.Background())
		_ = srv.Close()
		<-served
		_ = s.Close()
	})
	at := "http://" + ln.Addr().String()
	client := &http.Client{Transport: tr, Timeout: 20 * time.Second}
	resp, err := client.Post(at+"/v1/sessions", "", nil)
	if err != nil {
		f.Fatal(err)
	}
	var opened sessionInfo
	err = json.NewDecoder(resp.Body).Decode(&opened)
	resp.Body.Close()
	if err != nil || opened.Token == "" {
		f.Fatalf("no session: %v, %s", err, resp.Status)
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		method, path, _ := strings.Cut(paths[int(which)%len(paths)], " ")
		r, err := http.NewRequestWithContext(t.Context(), method, at+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if which < 128 {
			r.Header.Set("Authorization", "Bearer "+opened.Token)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s %s of %q: %v", method, path, body, err)
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode == http.StatusInternalServerError || len(got) > 0 && !json.Valid(got) {
			t.Errorf("%s %s of %q: %s %q, %v", method, path, body, resp.Status, got, err)
		}
	})
}
