package cli

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// What is named and is no socket, such as the directory of one, has nothing beside it that was meant.
func TestAskNoSocket(t *testing.T) {
	dir := t.TempDir()
	code, message := ExitCode(Gateway{Socket: dir}.Get(t.Context(), "/v1/history", nil))
	if want := dir + " is no socket; --socket and LOCKGW_SOCKET name the gateway's resp.sock"; code != ExitUsage || !strings.Contains(message, want) {
		t.Errorf("code %d: %s; want %d: %s", code, message, ExitUsage, want)
	}
}

// A gateway that refuses a connection says why before it has read a request. That is told, and not
// that the gateway has gone.
func TestAskReadsARefusal(t *testing.T) {
	dir := t.TempDir()
	ln, err := net.Listen("unix", filepath.Join(dir, HTTPSocket))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = nc.Write([]byte("HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Length: 45\r\n\r\n" +
				`{"code":"too_many","detail":"enough of them"}`))
			_ = nc.Close()
		}
	}()
	g := Gateway{Socket: filepath.Join(dir, RespSocket)}
	for range 200 {
		code, message := ExitCode(g.Get(t.Context(), "/v1/history", nil))
		if code != ExitNotAcquired || !strings.Contains(message, "enough of them") {
			t.Fatalf("code %d: %s; want the refusal", code, message)
		}
	}
}
