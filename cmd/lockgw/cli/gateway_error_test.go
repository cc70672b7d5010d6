package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/lockgw/lockgw/socket/client"
	"github.com/lockgw/lockgw/socket/resp"
)

// What keeps a user from the gateway is told, and what to do about it.
func TestConnectionError(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "unix", Err: err} }
	for _, tt := range []struct {
		err  error
		code int
		want string
	}{
		{dial(syscall.EACCES), ExitNoPermission, "you may not use the gateway at /s: permission denied; .*usermod"},
		{dial(syscall.ECONNREFUSED), ExitUnavailable, "no gateway at /s: connection refused; .*lockgw serve"},
		{dial(syscall.EAGAIN), ExitUnavailable, "the gateway at /s takes no more connections"},
		{context.DeadlineExceeded, ExitUnavailable, "the gateway at /s does not answer"},
		{unheard{context.DeadlineExceeded}, ExitUnavailable, "what listens at /s does not answer: .*another program; .*resp.sock"},
		{unheard{fmt.Errorf("closed: %w", io.EOF)}, ExitUnavailable, "what listens at /s has closed the connection without an answer: .*another program; .*resp.sock"},
		{unheard{dial(syscall.ECONNREFUSED)}, ExitUnavailable, "no gateway at /s: connection refused"},
		{fmt.Errorf("closed: %w", io.EOF), ExitUnavailable, "the gateway at /s has closed the connection"},
		{fmt.Errorf("closed: %w", &net.OpError{Op: "read", Net: "unix", Err: os.NewSyscallError("read", syscall.ECONNRESET)}), ExitUnavailable,
			"the gateway at /s has closed the connection"},
		{&net.OpError{Op: "write", Net: "unix", Err: os.NewSyscallError("write", syscall.EPIPE)}, ExitUnavailable, "the gateway at /s has closed the connection"},
		{fmt.Errorf("closed: %w", io.ErrUnexpectedEOF), ExitUnavailable, "the gateway at /s has closed the connection"},
		{fmt.Errorf("%w: %w", client.ErrProtocol, resp.ProtocolError(`reply "220 mail": unknown type`)), ExitUsage,
			`something else listens at /s: .*reply "220 mail".*resp.sock`},
		{fmt.Errorf("%w: %w", client.ErrProtocol, resp.ProtocolError(`reply "HTTP/1.1 400 Bad Request": unknown type`)), ExitUsage, "/s is a socket for HTTP; .*resp.sock"},
	} {
		err := GatewayError("/s", tt.err)
		if code, text := ExitCode(err); code != tt.code || !regexp.MustCompile(tt.want).MatchString(text) {
			t.Errorf("%v = %d %q, want %d %q", tt.err, code, text, tt.code, tt.want)
		}
	}
}

// A path that no socket can have is a mistake, and no gateway that is away, without which a
// command may be run.
func TestPathThatIsTooLong(t *testing.T) {
	_, err := Gateway{Socket: "/" + strings.Repeat("a", maxSocketPath)}.Dial(t.Context(), client.Options{})
	if code, text := ExitCode(err); code != ExitUsage || !strings.Contains(text, "bytes long, the kernel allows") {
		t.Errorf("%d %q, want %d and how long it may be", code, text, ExitUsage)
	}
}

func TestGatewayError(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{&client.Error{Word: "INVALID"}, ExitUsage},
		{&client.Error{Word: "UNSUPPORTED"}, ExitUsage},
		{&client.Error{Word: "UNAVAILABLE"}, ExitUnavailable},
		{&client.Error{Word: "DRAINING"}, ExitUnavailable},
		{&client.Error{Word: "BUSY"}, ExitNotAcquired},
		{&client.Error{Word: "LOST"}, ExitLost},
		{&client.Error{Word: "NOTHELD"}, ExitRefused},
		{&client.Error{Word: "NOSESSION"}, ExitRefused},
		{fmt.Errorf("wrapped: %w", client.ErrNotAcquired), ExitNotAcquired},
		{Exit(3, errors.New("x")), 3},
		{errors.New("connection refused"), ExitUnavailable},
	} {
		if got, _ := ExitCode(GatewayError("/s", tt.err)); got != tt.want {
			t.Errorf("exit code of %v = %d, want %d", tt.err, got, tt.want)
		}
	}
}
