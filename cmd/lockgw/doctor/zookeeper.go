package doctor

import (
	"context"

	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/backend/zookeeper"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

func examineZooKeeper(ctx context.Context, c config.Backend) (found []finding) {
	for _, f := range zookeeper.Examine(ctx, zookeeper.Config{URL: c.URL, KeyPrefix: c.KeyPrefix}) {
		level := examine.OK
		switch {
		case f.Fails:
			level = examine.Fail
		case f.Warned:
			level = examine.Warn
		}
		found = append(found, finding{level, f.Check, f.Detail, f.Remedy})
	}
	return found
}
