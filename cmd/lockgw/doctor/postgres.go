package doctor

import (
	"context"

	"github.com/lockgw/lockgw/backend/postgres"
	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

func examinePostgres(ctx context.Context, c config.Backend) (found []finding) {
	for _, f := range postgres.Examine(ctx, postgres.Config{URL: c.URL, ListenURL: c.Postgres.ListenURL, KeyPrefix: c.KeyPrefix}) {
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
