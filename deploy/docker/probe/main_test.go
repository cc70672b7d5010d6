package main

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func TestProbe(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "http.sock")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/livez" {
			http.Error(w, "store: refused", http.StatusServiceUnavailable)
		}
	})}
	go server.Serve(ln)
	t.Cleanup(func() { server.Close() })

	tests := []struct{ socket, path, want string }{
		{socket, "/livez", ""},
		{socket, "/readyz", "/readyz: 503 Service Unavailable: store: refused"},
		{socket + "x", "/livez", "no such file"},
	}
	for _, tt := range tests {
		err := probe(tt.socket, tt.path)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("probe %s %s: %v, want no error", tt.socket, tt.path, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("probe %s %s: %v, want %q in it", tt.socket, tt.path, err, tt.want)
		}
	}
}
