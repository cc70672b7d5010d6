package conn

import (
	"context"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// ReadInfo asks c for INFO and takes the answer apart.
func ReadInfo(ctx context.Context, c goredis.Cmdable, sections ...string) (map[string]string, error) {
	text, err := c.Info(ctx, sections...).Result()
	return InfoLines(text), err
}

// InfoLines makes a map of the lines of INFO, "used_memory" -> "1024".
func InfoLines(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}
