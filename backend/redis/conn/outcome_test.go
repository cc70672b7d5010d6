package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
)

// replyError is an error reply of Redis.
type replyError string

func (r replyError) Error() string { return string(r) }
func (replyError) RedisError()     {}

func TestOutcome(t *testing.T) {
	for _, tt := range []struct{ err, want error }{
		{nil, nil},
		{goredis.Nil, nil},
		{replyError("LOADING Redis is loading the dataset in memory"), backend.ErrRefused},
		{replyError("NOSCRIPT No matching script. Please use EVAL."), backend.ErrRefused},
		{replyError("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."), backend.ErrRefused},
		{replyError("ERR max number of clients reached"), backend.ErrRefused},
		{replyError("ERR Script attempted to access a non local key in a cluster node script: 00376c, on @user_script:1."), ErrHalfway},
		{replyError("ERR Attempted to access a non local key in a cluster node script: on @user_script:1."), ErrHalfway}, // Valkey 9
		{replyError("MOVED 1 127.0.0.1:2"), backend.ErrRefused},
		{fmt.Errorf("failed to authenticate: %w", replyError("WRONGPASS no")), backend.ErrRefused},
		{goredis.ErrPoolTimeout, backend.ErrUnreachable},
		{goredis.ErrClosed, backend.ErrRefused},
		{&net.OpError{Op: "dial", Err: io.EOF}, backend.ErrUnreachable},
		{&net.OpError{Op: "read", Err: io.EOF}, backend.ErrUnavailable},
		{io.EOF, backend.ErrUnavailable},
		{os.ErrDeadlineExceeded, backend.ErrUnavailable},
		{context.Canceled, backend.ErrUnavailable},
	} {
		if got := Outcome(tt.err); !errors.Is(got, tt.want) {
			t.Errorf("Outcome(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}

// A script that an ACL stops may have written before, which Redis 7.2 tells so.
func TestOutcomeOfHalfRunScript(t *testing.T) {
	err := replyError("NOPERM User u has no permissions to run the 'del' command script: 00376c, on @user_script:3.")
	if got := Outcome(err); got == nil || errors.Is(got, backend.ErrRefused) {
		t.Errorf("err = %v, want one that is not %v", got, backend.ErrRefused)
	}
}
