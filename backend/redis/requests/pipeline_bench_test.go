package requests

import (
	"strconv"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// benchScript does what a lock script does, roughly.
var benchScript = NewScript("allow-oom", "", `-- KEYS: lock  ARGV: owner, lease in ms
if redis.call('exists', KEYS[1]) == 1 then
  return redis.call('pttl', KEYS[1])
end
redis.call('hset', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return 0`)

func benchClient(b *testing.B) *goredis.Client {
	opt, err := conn.Options(redistest.Start(b).URL())
	if err != nil {
		b.Fatal(err)
	}
	client := goredis.NewClient(opt)
	b.Cleanup(func() { _ = client.Close() })
	if err := client.ScriptLoad(b.Context(), benchScript.Source).Err(); err != nil {
		b.Fatal(err)
	}
	return client
}

// callers runs op by n goroutines, each with a key of its own.
func callers(b *testing.B, n int, op func(key string) error) {
	var next atomic.Int64
	b.SetParallelism((n + 1) / 2) // times GOMAXPROCS, which is 2 where the figures are from
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		key := "bench" + strconv.FormatInt(next.Add(1), 10)
		for pb.Next() {
			if err := op(key); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkEval(b *testing.B) {
	client := benchClient(b)
	p := startPipeline(client)
	b.Cleanup(p.Close)
	ctx := b.Context()
	plain := func(key string) error {
		return client.EvalSha(ctx, benchScript.sha, []string{key}, "owner", 30000).Err()
	}
	piped := func(key string) error {
		_, err := p.eval(ctx, key, benchScript, to([]string{key}, "owner", 30000))
		return err
	}
	single := func(op func(string) error) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := op("bench"); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("callers=1/plain", single(plain))
	b.Run("callers=1/pipeline", single(piped))
	b.Run("callers=64/plain", func(b *testing.B) { callers(b, 64, plain) })
	b.Run("callers=64/pipeline", func(b *testing.B) { callers(b, 64, piped) })
}
