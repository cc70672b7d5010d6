package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// NotAcquired says who has the name, if the gateway still answers.
func NotAcquired(ctx context.Context, gateway interface {
	Info(ctx context.Context, name string) (client.Status, error)
}, name string) error {
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	st, err := gateway.Info(ctx, name)
	if err != nil || st.Holder == nil {
		return Exit(ExitNotAcquired, fmt.Errorf("%s was not acquired", name))
	}
	return Exit(ExitNotAcquired, fmt.Errorf("%s is still held by %s", name, HolderText(st.Holder)))
}

// Conflict gives an error of not having acquired the exit code of -E.
func Conflict(err error, code int) error {
	if e, ok := errors.AsType[*ExitError](err); ok && e.Code == ExitNotAcquired {
		return Exit(code, e.Err)
	}
	return err
}

// ModeVars adds the flags that say who else may hold a lock.
func ModeVars(f *pflag.FlagSet, shared *bool, limit *int) {
	f.BoolVarP(shared, "shared", "s", false, "let others hold the lock too, if they share it")
	f.IntVar(limit, "limit", 0, "let so many hold the lock at the same time (a semaphore)")
}

// CheckMode refuses what the flags of ModeVars cannot mean.
func CheckMode(f *pflag.FlagSet, shared bool, limit int) error {
	switch {
	case f.Changed("limit") && (limit < 1 || limit > session.MaxLimit):
		return Usagef("--limit: must be between 1 and %d", session.MaxLimit)
	case shared && limit > 0:
		return Usagef("--shared and --limit exclude each other")
	default:
		return nil
	}
}
