package cli

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

	"github.com/lockgw/lockgw/socket/client"
)

// DialTimeout bounds how long a command waits for the gateway to answer at all.
const DialTimeout = 5 * time.Second

// Gateway say which gateway a command talks to.
type Gateway struct{ Socket string }

// AddFlag adds --socket.
func (g *Gateway) AddFlag(flags *pflag.FlagSet) {
	flags.StringVar(&g.Socket, "socket", "", "path of the gateway's resp.sock (default: the one of this user, else of this machine)")
}

// Path is where the gateway's socket is, or ought to be.
func (g Gateway) Path() (string, error) {
	if g.Socket != "" {
		return g.Socket, nil
	}
	if dir := os.Getenv("LOCKGW_SOCKET_DIR"); dir != "" { // where `lockgw serve` makes it
		return filepath.Join(dir, RespSocket), nil
	}
	return findSocket(DefaultSocketDir(), systemSocketDir(), os.Geteuid())
}

// findSocket prefers a gateway of this user to that of the machine. It refuses a
// directory that somebody else has made: anybody may make that of UserTempDir.
func findSocket(own, system string, uid int) (string, error) {
	path := filepath.Join(own, RespSocket)
	if other := filepath.Join(system, RespSocket); !Exists(path) && Exists(other) {
		return other, nil
	}
	info, err := os.Lstat(own)
	if err != nil {
		return path, nil // the attempt to connect will say why
	}
	if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != 0 && owner != uid {
		return "", Exit(ExitUnavailable, fmt.Errorf("%s belongs to the user with id %d (%w); name the gateway's socket with --socket", own, owner, fs.ErrPermission))
	}
	return path, nil
}

// Exists is also true of what this user may not look at.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// Dial connects to the gateway.
func (g Gateway) Dial(ctx context.Context, o client.Options) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	path, err := g.Path()
	if err != nil {
		return nil, err
	}
	c, err := client.Dial(ctx, path, o)
	if err != nil {
		return nil, GatewayError(path, err)
	}
	return c, nil
}

// With runs f with a connection to the gateway and turns its error into that of
// a command.
func (g Gateway) With(cmd *cobra.Command, token string, f func(context.Context, *client.Client) error) error {
	c, err := g.Dial(cmd.Context(), client.Options{Token: client.Token(token)})
	if err != nil {
		return err
	}
	defer c.Close()
	path, _ := g.Path() // dial has used it
	return GatewayError(path, f(cmd.Context(), c))
}
