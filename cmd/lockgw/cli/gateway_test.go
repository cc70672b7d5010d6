package cli

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/socket/client"
)

func TestFindSocket(t *testing.T) {
	own, system, none := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "none")
	for _, dir := range []string{own, system} {
		if err := os.WriteFile(filepath.Join(dir, RespSocket), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ own, system, want string }{
		{own, system, system}, {own, none, own}, {none, system, system}, {none, none, none},
	} {
		got, err := findSocket(tt.own, tt.system, os.Geteuid())
		if want := filepath.Join(tt.want, RespSocket); got != want || err != nil {
			t.Errorf("findSocket(%q, %q) = %q, %v; want %q", tt.own, tt.system, got, err, want)
		}
	}
}

// A gateway that hangs once it was reached ends every command that asks it something.
func TestWithAGatewayThatHangs(t *testing.T) {
	path := filepath.Join(t.TempDir(), RespSocket)
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		_, _ = nc.Read(make([]byte, 512)) // an answer before the question is none
		_, _ = nc.Write([]byte("%0\r\n"))
		_, _ = io.Copy(io.Discard, nc)
	}()
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	err = Gateway{Socket: path, patience: 100 * time.Millisecond}.With(cmd, "", func(ctx context.Context, c *client.Client) error {
		_ = c.Ping(ctx)
		return c.Ping(ctx) // as of a command that can do without the first
	})
	if code, text := ExitCode(err); code != ExitUnavailable || !strings.HasSuffix(text, "does not answer") {
		t.Errorf("%d %q, want %d and that it does not answer", code, text, ExitUnavailable)
	}
}

func TestFindSocketForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give a directory away")
	}
	own := t.TempDir()
	if err := os.Chown(own, 4711, -1); err != nil {
		t.Fatal(err)
	}
	got, err := findSocket(own, "/nosuch", 4712)
	if err == nil || !strings.Contains(err.Error(), "user with id 4711") {
		t.Errorf("a directory of another user = %q, %v; want a refusal that names the user", got, err)
	}
	if code, _ := ExitCode(err); code != ExitNoPermission {
		t.Errorf("its exit code is %d, want %d: it is no gateway that is away", code, ExitNoPermission)
	}
	if _, err := findSocket(own, "/nosuch", 4711); err != nil {
		t.Errorf("one's own directory: %v", err)
	}
	if err := os.Chmod(own, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := findSocket(own, "/nosuch", 4711); err == nil {
		t.Error("a directory that everybody may write is taken")
	}
}
