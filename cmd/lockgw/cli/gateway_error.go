package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// GatewayError gives an error of the client, or of writing what it has answered, the exit
// code it stands for.
func GatewayError(path string, err error) error {
	var reply *client.Error
	var done *ExitError
	var file *fs.PathError
	switch {
	case err == nil, errors.As(err, &done):
		return err
	case errors.As(err, &reply):
		return Exit(refusalCode(reply), fmt.Errorf("the gateway refused: %w", reply))
	case errors.Is(err, client.ErrNotAcquired):
		return Exit(ExitNotAcquired, err)
	case errors.As(err, &file): // the output: errors of connections are of another type
		return Exit(ExitFailed, err)
	default:
		return Exit(connectionCode(path, err), ConnectionError(path, err))
	}
}

// ConnectionError says in words why the gateway at path was not reached, or not any more.
func ConnectionError(path string, err error) error {
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "dial" && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("you may not use the gateway at %s: %w; its group may, which is lockgw where a package has made it: usermod -aG lockgw USER, "+
			"and a new login", path, op.Err)
	case CheckSocketPath(path) != nil:
		return CheckSocketPath(path)
	case noSocket(path):
		return noSocketError(path)
	case errors.As(err, &op) && op.Op == "dial" && errors.Is(err, syscall.EAGAIN):
		return fmt.Errorf("the gateway at %s takes no more connections: it hangs, or more ask than it can serve", path)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("no gateway at %s: %w; is `lockgw serve` running? --socket or LOCKGW_SOCKET names another path", path, op.Err)
	case errors.As(err, new(unheard)) && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("what listens at %s does not answer: a gateway that hangs, or another program; --socket and LOCKGW_SOCKET name the gateway's resp.sock", path)
	case errors.As(err, new(unheard)) && hungUp(err):
		return fmt.Errorf("what listens at %s has closed the connection without an answer: a gateway that is being stopped or restarted, or another program; "+
			"--socket and LOCKGW_SOCKET name the gateway's resp.sock", path)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, client.ErrClosed): // by a call before
		return fmt.Errorf("the gateway at %s does not answer", path)
	case hungUp(err):
		return fmt.Errorf("the gateway at %s has closed the connection: it was stopped, or is being restarted", path)
	case strings.Contains(err.Error(), `reply "HTTP/`):
		return fmt.Errorf("%s is a socket for HTTP; --socket and LOCKGW_SOCKET name the one beside it, resp.sock", path)
	case errors.Is(err, client.ErrProtocol):
		return fmt.Errorf("something else listens at %s: %w; --socket and LOCKGW_SOCKET name the gateway's resp.sock", path, err)
	default:
		return fmt.Errorf("connection to %s: %w", path, err)
	}
}

// unheard is an error of a connection before the first answer: who listens there is not known. It
// counts as a gateway that is away, for one that hangs, or is being stopped, looks the same.
type unheard struct{ error }

func (u unheard) Unwrap() error { return u.error }

func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// connectionCode tells a gateway that is away from one that this user may not use, and from a path
// that is none's: a job that may run while there is no gateway may not run because of that.
func connectionCode(path string, err error) int {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return ExitNoPermission
	case CheckSocketPath(path) != nil, noSocket(path), errors.Is(err, client.ErrProtocol):
		return ExitUsage
	default:
		return ExitUnavailable
	}
}

// noSocket: there is something else at path.
func noSocket(path string) bool {
	f, err := os.Stat(path)
	return err == nil && f.Mode().Type() != fs.ModeSocket
}

func noSocketError(path string) error {
	return fmt.Errorf("%s is no socket; --socket and LOCKGW_SOCKET name the gateway's resp.sock, LOCKGW_SOCKET_DIR the directory that it is in", path)
}

// refusalCode is the exit code for what the gateway has refused.
func refusalCode(err error) int {
	switch {
	case errors.Is(err, client.ErrInvalid), errors.Is(err, client.ErrUnsupported):
		return ExitUsage
	case errors.Is(err, client.ErrUnavailable), errors.Is(err, client.ErrDraining):
		return ExitUnavailable
	case errors.Is(err, client.ErrBusy):
		return ExitNotAcquired
	case errors.Is(err, client.ErrLost):
		return ExitLost
	default:
		return ExitRefused
	}
}

// CheckNames refuses what can be no lock name before the gateway is asked.
func CheckNames(names ...string) error {
	for _, name := range names {
		if err := session.CheckName(name); err != nil {
			return Usagef("%q is no lock name: %s", name, detail(err))
		}
	}
	return nil
}

// detail is the sentence of an error of the core, without its code.
func detail(err error) string {
	if e, ok := errors.AsType[*session.Error](err); ok {
		return e.Detail
	}
	return err.Error()
}
