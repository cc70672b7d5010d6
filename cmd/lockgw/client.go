package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket"
)

// dialTimeout bounds how long a command waits for the gateway to answer at all.
const dialTimeout = 5 * time.Second

// gatewayFlags say which gateway a command talks to.
type gatewayFlags struct{ socket string }

func (g *gatewayFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&g.socket, "socket", "", "path of the gateway's resp.sock (default: the one of this user, else of this machine)")
}

// path is where the gateway's socket is, or ought to be.
func (g gatewayFlags) path() (string, error) {
	if g.socket != "" {
		return g.socket, nil
	}
	if dir := os.Getenv("LOCKGW_SOCKET_DIR"); dir != "" { // where `lockgw serve` makes it
		return filepath.Join(dir, respSocket), nil
	}
	return findSocket(defaultSocketDir(), systemSocketDir, os.Geteuid())
}

// findSocket prefers a gateway of this user to that of the machine. It refuses a
// directory that somebody else has made: anybody may make that of userTempDir.
func findSocket(own, system string, uid int) (string, error) {
	path := filepath.Join(own, respSocket)
	if other := filepath.Join(system, respSocket); !exists(path) && exists(other) {
		return other, nil
	}
	info, err := os.Lstat(own)
	if err != nil {
		return path, nil // the attempt to connect will say why
	}
	if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != 0 && owner != uid {
		return "", exit(exitUnavailable, fmt.Errorf("%s belongs to the user with id %d; name the gateway's socket with --socket", own, owner))
	}
	return path, nil
}

// exists is also true of what this user may not look at.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// dial connects to the gateway.
func (g gatewayFlags) dial(ctx context.Context, o socket.DialOptions) (*socket.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	path, err := g.path()
	if err != nil {
		return nil, err
	}
	c, err := socket.Dial(ctx, path, o)
	if err != nil {
		return nil, gatewayError(path, err)
	}
	return c, nil
}

// with runs f with a connection to the gateway and turns its error into that of
// a command.
func (g gatewayFlags) with(cmd *cobra.Command, token string, f func(context.Context, *socket.Client) error) error {
	c, err := g.dial(cmd.Context(), socket.DialOptions{Token: session.Token(token)})
	if err != nil {
		return err
	}
	defer c.Close()
	path, _ := g.path() // dial has used it
	return gatewayError(path, f(cmd.Context(), c))
}
