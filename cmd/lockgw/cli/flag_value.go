package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/session"
)

// flagValue makes a flag of any type that a text can be read into.
type flagValue[T any] struct {
	p    *T
	kind string
	read func(string) (T, error)
	show func(T) string
}

func (v flagValue[T]) Type() string   { return v.kind }
func (v flagValue[T]) String() string { return v.show(*v.p) }
func (v flagValue[T]) Set(text string) error {
	x, err := v.read(text)
	if err == nil {
		*v.p = x
	}
	return err
}

// DurationVar reads durations as everywhere in lockgw: 30s, 1h30m or seconds.
func DurationVar(flags *pflag.FlagSet, p *time.Duration, name, usage string) {
	flags.Var(flagValue[time.Duration]{p: p, kind: "duration", read: session.ParseDuration, show: ShowDuration}, name, usage)
}

// PositiveVar is DurationVar for durations longer than 0.
func PositiveVar(flags *pflag.FlagSet, p *time.Duration, name, usage string) {
	read := func(text string) (time.Duration, error) {
		d, err := session.ParseDuration(text)
		if err == nil && d == 0 {
			err = errors.New("must be longer than 0")
		}
		return d, err
	}
	flags.Var(flagValue[time.Duration]{p: p, kind: "duration", read: read, show: ShowDuration}, name, usage)
}

// NumberVar reads a decimal from least on. 0 is shown as no default.
func NumberVar[N int64 | uint64](flags *pflag.FlagSet, p *N, name string, least N, usage string) {
	read := func(text string) (N, error) {
		n, err := strconv.ParseInt(text, 10, 64) // all of them are less than 2^63
		if err != nil || text[0] == '+' || n < 0 || N(n) < least {
			return 0, fmt.Errorf("must be a decimal from %d on", least)
		}
		return N(n), nil
	}
	show := func(n N) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	flags.Var(flagValue[N]{p: p, kind: "int", read: read, show: show}, name, usage)
}

// ShowDuration is "" for 0, so that no default is shown where there is none.
func ShowDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return Duration(d)
}

// SignalVar reads a signal: TERM, SIGTERM or 15.
func SignalVar(flags *pflag.FlagSet, p *syscall.Signal, name, usage string) {
	show := func(s syscall.Signal) string { return strings.TrimPrefix(unix.SignalName(s), "SIG") }
	flags.Var(flagValue[syscall.Signal]{p: p, kind: "signal", read: parseSignal, show: show}, name, usage)
}

func parseSignal(text string) (syscall.Signal, error) {
	name := strings.ToUpper(text)
	if s := unix.SignalNum("SIG" + strings.TrimPrefix(name, "SIG")); s != 0 {
		return s, nil
	}
	for s := syscall.Signal(1); s < 32; s++ {
		if text == fmt.Sprint(int(s)) {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%q is no signal such as TERM or 15", text)
}

// ChoiceVar reads one of a few words.
func ChoiceVar(flags *pflag.FlagSet, p *string, name, shorthand, usage string, words ...string) {
	read := func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("%q is not one of %s", text, strings.Join(words, ", "))
		}
		return text, nil
	}
	show := func(s string) string { return s }
	flags.VarP(flagValue[string]{p: p, kind: strings.Join(words, "|"), read: read, show: show}, name, shorthand, usage)
}

// ExitCodeVar reads a number that a process can end with.
func ExitCodeVar(flags *pflag.FlagSet, p *int, name, shorthand, usage string) {
	read := func(text string) (int, error) {
		for code := range 256 {
			if text == fmt.Sprint(code) {
				return code, nil
			}
		}
		return 0, fmt.Errorf("%q is no exit code from 0 to 255", text)
	}
	flags.VarP(flagValue[int]{p: p, kind: "code", read: read, show: func(n int) string { return fmt.Sprint(n) }}, name, shorthand, usage)
}
