package servers

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/redis/conn"
)

func dial(t *testing.T, url string) *goredis.Client {
	t.Helper()
	opt, err := conn.Options(url)
	if err != nil {
		t.Fatal(err)
	}
	c := goredis.NewClient(opt)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
