package redis

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/redis/conn"
)

// servers are where the locks are: one server, the one that Sentinels name, or the
// masters of a cluster.
type servers interface {
	// of returns the server that keeps key, as far as is known. Nothing was sent
	// there if there is an error.
	of(ctx context.Context, key string) (*goredis.Client, error)
	// part is the address of that server without waiting, "" where it is the only one.
	part(ctx context.Context, key string) string
	// slot tells which keys one script may use together.
	slot(key string) int
	// masters lists all servers, asking anew which they are, in a lasting order.
	masters(ctx context.Context) ([]*goredis.Client, error)
	// joined returns nil if c, one of them, serves the keys that it has.
	joined(ctx context.Context, c *goredis.Client) error
	// shares is how many slots each server has, by its address, as via knows; nil
	// where that is not known or means nothing.
	shares(ctx context.Context, via *goredis.Client) map[string]int
	// follow runs cmd, of which errElsewhere was the answer, where it has to run.
	follow(ctx context.Context, cmd *goredis.Cmd) error
	// failed has it found out who serves in place of a server that did not answer.
	failed(ctx context.Context)
	// listen makes what listens to channel; watched says by which commands to watch.
	listen(channel string, watched publishing, log *slog.Logger) listener
	Close() error
}

// listener is a hub, or several.
type listener interface {
	start(onMessage func(payload string), onResync func())
	watch(channel string, f func())
	unwatch(channel string)
	// hears: messages published now on c, one of the masters, will arrive, as far as
	// the last probe tells.
	hears(c *goredis.Client) bool
	probeAge() time.Duration
	Close()
}

// single is one server, or the one that Sentinels name at the time of connecting.
type single struct{ *goredis.Client }

func (s single) of(context.Context, string) (*goredis.Client, error) { return s.Client, nil }

func (s single) part(context.Context, string) string { return "" }

func (s single) slot(string) int { return 0 }

func (s single) masters(context.Context) ([]*goredis.Client, error) {
	return []*goredis.Client{s.Client}, nil
}

func (s single) joined(context.Context, *goredis.Client) error { return nil }

func (s single) shares(context.Context, *goredis.Client) map[string]int { return nil }

func (s single) follow(context.Context, *goredis.Cmd) error { return errors.ErrUnsupported }

func (s single) failed(context.Context) {}

func (s single) listen(channel string, watched publishing, log *slog.Logger) listener {
	h := newHub(s.Client, channel, log)
	h.watched = watched
	return h
}

// open reads backend.url and returns what makes clients for it.
func open(rawurl string) (func() servers, error) {
	scheme, _, _ := strings.Cut(rawurl, "://")
	switch scheme {
	case "redis+sentinel", "rediss+sentinel":
		opt, err := conn.SentinelOptions(rawurl)
		return func() servers { return single{conn.NewMaster(opt)} }, err
	case "redis+cluster", "rediss+cluster":
		a, err := conn.ClusterAddress(rawurl)
		return func() servers { return &cluster{ClusterClient: a.New()} }, err
	default:
		opt, err := conn.Options(rawurl)
		return func() servers { return single{conn.New(opt)} }, err
	}
}

// CheckURL says what Open would not understand of an address, without a look at the
// files that it names. An error never contains the password.
func CheckURL(rawurl string) error { return conn.CheckURL(rawurl) }
