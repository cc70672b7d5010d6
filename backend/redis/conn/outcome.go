package conn

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
)

// refusals are the error replies by which Redis says that it has not run a script,
// or not beyond its first write, and what to do about them.
var refusals = []struct{ prefix, advice string }{
	{"OOM ", "Redis is out of memory: raise maxmemory or free some"},
	{"READONLY ", "this Redis is a replica: connect to its master"},
	{"LOADING ", "Redis is starting and reads its data: try again soon"},
	{"MASTERDOWN ", "this Redis is a replica without its master: connect to a master"},
	{"NOREPLICAS ", "fewer replicas are connected than min-replicas-to-write asks for"},
	{"MISCONF ", "Redis cannot save to disk and therefore takes no writes: make room there, or see its log"},
	{"NOAUTH ", "Redis asks for a password: put it into the address"},
	{"WRONGPASS ", "Redis knows no such user and password"},
	{"NOPERM ", "the Redis user may not do this: see ACL SETUSER"},
	{"CLUSTERDOWN ", "the Redis cluster does not serve all of its slots"},
	{"BUSY ", "a script of somebody occupies Redis: wait, or use SCRIPT KILL"},
	{"DENIED ", "Redis is in protected mode and serves its own machine only"},
	{"ERR max number of clients reached", "raise maxclients of Redis"},
}

// ErrForgotten: the server does not know the script.
var ErrForgotten = fmt.Errorf("%w: Redis forgot the script while it was sent: try again", backend.ErrRefused)

// RefusedLogin says that the server knows no such user and password, or wants one.
func RefusedLogin(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "WRONGPASS ") || strings.Contains(err.Error(), "NOAUTH "))
}

// deposed are the refusals by a server in whose place another one may serve by now.
var deposed = []string{"CLUSTERDOWN ", "LOADING ", "MASTERDOWN ", "READONLY "}

// Deposed says of an error from Outcome that it is one of these.
func Deposed(err error) bool {
	return errors.Is(err, backend.ErrRefused) && slices.ContainsFunc(deposed, func(code string) bool { return strings.Contains(err.Error(), "("+code) })
}

// redirections are the refusals of a server that does not have all of the keys.
var redirections = []struct{ prefix, advice string }{
	{"MOVED ", "this Redis is part of a cluster: use redis+cluster://"},
	{"ASK ", "this Redis is part of a cluster: use redis+cluster://"},
	{"TRYAGAIN ", "the Redis cluster is moving these keys: try again soon"},
}

// ErrElsewhere: a request has to be sent to another server, or to this one later.
var ErrElsewhere = fmt.Errorf("%w: it does not have these keys", backend.ErrRefused)

// ErrHalfway: a script was broken off.
var ErrHalfway = fmt.Errorf("%w: the Redis cluster is moving these keys", backend.ErrUnavailable)

// leftHalfway is in the error of a script in which a command missed a key that is being moved to
// another server. What was written before stays, and a repeat goes on. Redis says "Script
// attempted", Valkey 9 "Attempted".
const leftHalfway = "ttempted to access a non local key"

// ErrLacksRight: a script was stopped at what its user may not do. What it wrote before stays.
var ErrLacksRight = errors.New("the Redis user may not do all that lockgw's scripts do: see ACL SETUSER, and docs/redis-layout.md")

// stopped is in the error of such a script: of Redis 7.0, of later ones, and where the command
// was renamed.
var stopped = []string{"executing the script can't", "ACL failure", "nknown Redis command"}

// Outcome turns an error of go-redis into one of package backend, and nil and a
// nil reply into nil.
func Outcome(err error) error {
	if err == nil {
		return nil // before the variables below cost an allocation each
	}
	var reply goredis.Error
	var dial *net.OpError
	switch {
	case errors.Is(err, backend.ErrUnreachable), errors.Is(err, ErrTurnedAway):
		return err
	case errors.Is(err, goredis.Nil):
		return nil
	case errors.Is(err, goredis.ErrClosed):
		return ErrClosed
	case errors.Is(err, goredis.ErrPoolTimeout):
		return fmt.Errorf("%w: no connection to Redis was free in time", backend.ErrUnreachable)
	case errors.As(err, &dial) && dial.Op == "dial":
		return fmt.Errorf("%w: %w", backend.ErrUnreachable, err)
	case !errors.As(err, &reply):
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	text := reply.Error()
	if strings.HasPrefix(text, "NOSCRIPT ") {
		return fmt.Errorf("%w (%s)", ErrForgotten, text)
	}
	if advice := adviceOn(text); advice != "" && !halfRun(text) {
		return fmt.Errorf("%w: %s (%s)", backend.ErrRefused, advice, text)
	}
	for _, r := range redirections {
		if strings.HasPrefix(text, r.prefix) {
			return fmt.Errorf("%w: %s (%s)", ErrElsewhere, r.advice, text)
		}
	}
	if halfRun(text) || slices.ContainsFunc(stopped, func(words string) bool { return strings.Contains(text, words) }) {
		return fmt.Errorf("%w (%w)", ErrLacksRight, err)
	}
	if strings.Contains(text, leftHalfway) {
		return fmt.Errorf("%w (%s)", ErrHalfway, text)
	}
	return fmt.Errorf("redis: %w", err)
}

// adviceOn is what to do about a refusal; "": text is none.
func adviceOn(text string) string {
	for _, r := range refusals {
		if strings.HasPrefix(text, r.prefix) {
			return r.advice
		}
	}
	return ""
}

// halfRun: an ACL stops a script at the command it forbids, whatever was written
// before. The other refusals come before a script's first write or not at all.
func halfRun(text string) bool {
	return strings.HasPrefix(text, "NOPERM ") && strings.Contains(text, " script: ")
}

// ErrClosed: the client was closed, so nothing was sent.
var ErrClosed = fmt.Errorf("%w: the connection to Redis is closed", backend.ErrRefused)

// Forbidden says that the server has answered with a refusal to tell, as it does to a
// command that an ACL or a provider takes away.
func Forbidden(err error) bool {
	if goredis.HasErrorPrefix(err, "NOPERM") {
		return true
	}
	err = Outcome(err)
	return err != nil && !errors.Is(err, backend.ErrRefused) && !errors.Is(err, backend.ErrUnavailable)
}
