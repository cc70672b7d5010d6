package history_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

type redisStore struct {
	*redistest.Server
	t testing.TB
}

func startRedis(t testing.TB) store { return redisStore{redistest.Start(t), t} }

func (s redisStore) server() string { return s.Addr }

func (s redisStore) config(addr string, in scenario) string {
	guard := "none"
	if in.guarded {
		guard = "quarantine"
	}
	return fmt.Sprintf(`{url: "redis://%s", redis: {guard: %s}}`, addr, guard)
}

func (redisStore) listens(chunk []byte) bool { return subscribes(chunk) }

func subscribes(chunk []byte) bool {
	return bytes.Contains(bytes.ToLower(chunk), []byte("\r\nsubscribe\r\n"))
}

// scripts are all that change a lock; probes and pings are none.
func (s redisStore) scripts(t testing.TB) int64 {
	stats := s.CommandStats(t)
	return stats["evalsha"] + stats["eval"]
}

// left: the record of a name may stay for a minute, without anybody in it; and one mark of
// the server, from which fences count.
func (s redisStore) left(ctx context.Context) (left []string) {
	c := s.Client()
	defer c.Close()
	keys, err := c.Keys(ctx, "*").Result()
	if err != nil {
		return []string{err.Error()}
	}
	for _, k := range keys {
		ends := c.PTTL(ctx, k).Val()
		switch {
		case strings.HasPrefix(k, "lockgw:guard:"): // of the server, not of a name
		case ends > 0 && strings.HasPrefix(k, "lockgw:mark:"): // likewise
		case ends > 0 && ends <= time.Minute && strings.HasPrefix(k, "lockgw:{") && unused(c.Get(ctx, k).Val()):
		default:
			left = append(left, k+content(ctx, c, k))
		}
	}
	return left
}

func unused(value string) bool {
	head, rest, _ := strings.Cut(value, "\n")
	body, joined, _ := strings.Cut(rest, "\n")
	return head != "" && joined == "" && nobody(body)
}

// content of a key: it says whose it was.
func content(ctx context.Context, c *goredis.Client, key string) (text string) {
	if c.Type(ctx, key).Val() == "string" {
		return " " + c.Get(ctx, key).Val()
	}
	for field, value := range c.HGetAll(ctx, key).Val() {
		text += fmt.Sprintf(" %s=%q", field, value)
	}
	return text
}

// tell sends Redis a command of the fault's own.
func (s redisStore) tell(args ...any) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Client().Do(ctx, args...).Err(); err != nil {
		s.t.Errorf("nemesis: %v: %v", args, err)
	}
}

func (s redisStore) slow(d time.Duration) { s.tell("DEBUG", "SLEEP", d.Seconds()) }
func (s redisStore) upset()               { s.tell("SCRIPT", "FLUSH") }
func (s redisStore) cut()                 { s.tell("CLIENT", "KILL", "TYPE", "pubsub") }
func (s redisStore) restart() bool        { return false }
func (s redisStore) forget()              { s.Restart() }
