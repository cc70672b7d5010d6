package history_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

// clean waits until nothing is left of the callers.
func (r *rig) clean() []history.Violation {
	var left []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if left = append(r.keysLeft(), r.gatewaysLeft()...); len(left) == 0 {
			return nil
		}
	}
	slices.Sort(left)
	return []history.Violation{{Rule: "leak", Text: "left behind: " + strings.Join(left, "; ")}}
}

// keysLeft are the keys in Redis that should not be there when nobody holds or waits. The
// record of a name may stay for a minute, without anybody in it; and one mark of the
// server, from which fences count.
func (r *rig) keysLeft() (left []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := r.redis.Client()
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
		case ends > 0 && ends <= time.Minute && strings.HasPrefix(k, "lockgw:{") && nobody(c.Get(ctx, k).Val()):
		default:
			left = append(left, k+content(ctx, c, k))
		}
	}
	return left
}

// nobody holds the name of which this is the record, or waits for it.
func nobody(record string) bool {
	head, rest, _ := strings.Cut(record, "\n")
	body, joined, _ := strings.Cut(rest, "\n")
	r, err := ledger.Decode([]byte(body))
	return err == nil && head != "" && joined == "" && len(r.Holds) == 0 && len(r.Queue) == 0
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

// gatewaysLeft is what the gateways still have.
func (r *rig) gatewaysLeft() (left []string) {
	const spare = 45 // connections to Redis that are kept for later
	for i, g := range r.gateways {
		g.HTTP.CloseIdleConnections()
		if n := g.Descriptors(); n > r.base[i]+spare {
			left = append(left, fmt.Sprintf("%d descriptors of %s, %d at the start", n, g.Name, r.base[i]))
		}
		if info := r.info(g); !strings.Contains(info, "holds:0\r\nwaiters:0\r\n") {
			left = append(left, g.Name+" counts "+info)
		}
	}
	return left
}

// info is what the gateway counts.
func (r *rig) info(g *gateway) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	d, err := openSocket(ctx, g)
	if err != nil {
		return err.Error()
	}
	defer d.close()
	v, err := d.do(ctx, "INFO")
	if err != nil {
		return err.Error()
	}
	_, counts, _ := strings.Cut(fmt.Sprint(v), "# Lockgw\r\n")
	return counts
}
