package examine

import (
	"context"
	"fmt"

	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// Distinct tells of those among the servers at urls that are another one of them by a second
// address, as a host name and its IP address. One that does not say which it is is left out.
func Distinct(ctx context.Context, urls []string) (found []Finding) {
	first := map[string]int{}
	for i, url := range urls {
		run := runOf(ctx, url)
		before, known := first[run]
		switch {
		case run == "":
		case known:
			found = append(found, Finding{
				Fail, "address", fmt.Sprintf("servers %d and %d are one and the same Redis, which counts once: with fewer servers than backend.url names, no locks are granted while another one is away", before+1, i+1),
				"name each Redis once in backend.url, and at least three that do not fail together",
			})
		default:
			first[run] = i
		}
	}
	return found
}

// runOf is the id of the run of the server at url; "": it does not say.
func runOf(ctx context.Context, url string) string {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	t, err := redis.OpenTable(redis.Config{URL: url})
	if err != nil {
		return ""
	}
	defer t.Close()
	there, err := t.Survey(ctx)
	if err != nil {
		return ""
	}
	info, err := conn.ReadInfo(ctx, there.Masters[0], "server")
	if err != nil {
		return ""
	}
	return info["run_id"]
}
