package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/socket/client"
)

// DialTimeout bounds how long a command waits for the gateway to answer at all.
const DialTimeout = 5 * time.Second

// AnswerTimeout bounds how long a command waits for an answer of the gateway that it has reached,
// besides the wait that it asks for.
const AnswerTimeout = 30 * time.Second

// Gateway say which gateway a command talks to.
type Gateway struct {
	Socket string

	patience time.Duration // for a test; 0: AnswerTimeout
}

// AddFlag adds --socket.
func (g *Gateway) AddFlag(flags *pflag.FlagSet) {
	flags.StringVar(&g.Socket, "socket", "", "path of the gateway's resp.sock (default: the one of this machine, else of this user)")
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

// findSocket is the socket of the machine's gateway, or else that of this user's gateway. A
// socket that this user may not use, or that another user may have put there (anybody can
// make UserTempDir), is an error of its own: it must not count as a gateway that is away,
// without which a command may be run or skipped.
func findSocket(own, system string, uid int) (string, error) {
	machine, path := filepath.Join(system, RespSocket), filepath.Join(own, RespSocket)
	err := unix.Faccessat(unix.AT_FDCWD, machine, unix.R_OK|unix.W_OK, unix.AT_EACCESS)
	if err == nil || errors.Is(err, fs.ErrPermission) && !Exists(path) {
		return machine, nil // the attempt to connect says what is not permitted
	}
	if err := checkOwnDir(own, uid); err != nil {
		return "", Exit(ExitNoPermission, fmt.Errorf("%w; name the gateway's socket with --socket or LOCKGW_SOCKET", err))
	}
	return path, nil
}

// checkOwnDir refuses a directory in which somebody else can put a socket. One that is
// not there is right: the attempt to connect says so.
func checkOwnDir(dir string, uid int) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return CheckSafeDir(dir, info, uid)
}

// Exists is also true for a path that this user may not look at.
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
		return nil, GatewayError(path, unheard{err})
	}
	if _, err := g.Path(); err != nil { // somebody has made the directory meanwhile
		c.Close()
		return nil, err
	}
	return c, nil
}

// Answers says why the gateway does not answer on the socket that most commands use, nil if
// it does.
func (g Gateway) Answers(ctx context.Context) error {
	c, err := g.Dial(ctx, client.Options{})
	if err != nil {
		return err
	}
	return c.Close()
}

// With runs f with a connection to the gateway and turns its error into that of
// a command.
func (g Gateway) With(cmd *cobra.Command, token string, f func(context.Context, *client.Client) error) error {
	c, err := g.Dial(cmd.Context(), client.Options{Token: client.Token(token), Patience: cmp.Or(g.patience, AnswerTimeout)})
	if err != nil {
		return err
	}
	defer c.Close()
	path, _ := g.Path() // dial has used it
	return GatewayError(path, f(cmd.Context(), c))
}
