// Package doctor is `lockgw doctor`: it says what is wrong with a gateway, its store and
// its machine, and what to do. A running gateway examines itself. If none runs, doctor looks
// as a gateway would that was started from this shell.
package doctor

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/etcd"
	"github.com/lockgw/lockgw/backend/mysql"
	"github.com/lockgw/lockgw/backend/postgres"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/backend/redlock"
	"github.com/lockgw/lockgw/backend/zookeeper"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

// finding is what was found out about one thing, as `doctor` tells it.
type finding struct {
	Level  examine.Level `json:"level"`
	Check  string        `json:"check"`
	Detail string        `json:"detail"`
	Remedy string        `json:"mend,omitempty"`
}

// New is the command `doctor`.
func New() *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong with the store and this machine, and say how to mend it",
		Long: `Look for wrong settings of the store, for rights that are missing there, and for
what a gateway needs of this machine. The running gateway is asked: it looks with the
configuration that is in force there, which need not be that of this shell. A lock that
nobody else uses is taken and given back.

Where no gateway runs, or with flags of the configuration, doctor looks as a gateway would
that was started from here with them.

Each line begins with ok, warn or fail. The exit code is 1 if any of them fails.
Run it as root or as the user of the gateway.`,
		Args: cli.UsageArgs(cli.NoArgs),
	}
	var g cli.Gateway
	g.AddFlag(cmd.Flags())
	load := config.AddFlags(cmd)
	cli.FormatVar(cmd.Flags(), &format, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := load()
		s.Warn(cmd)
		if err != nil {
			return err
		}
		var found []finding
		if config.Typed(cmd) {
			found = examineHere(cmd.Context(), s)
		} else {
			found = askGateway(cmd.Context(), g, s)
		}
		if err := writeFindings(cmd.OutOrStdout(), format, found); err != nil {
			return err
		}
		for _, f := range found {
			if f.Level == examine.Fail {
				return cli.Exit(cli.ExitRefused, nil)
			}
		}
		return nil
	}
	return cmd
}

// examineAll looks as a gateway would that was started with s, and was passed its Unix sockets.
func examineAll(ctx context.Context, s config.Settings, passed bool) []finding {
	return append(examineStore(ctx, s.Backend, s.Lock.TTL), examineMachine(s.Config, passed)...)
}

// examineHere looks as a gateway would that was started from this shell.
func examineHere(ctx context.Context, s config.Settings) []finding {
	found := examineAll(ctx, s, false)
	for i := range found {
		if found[i].Check == openFiles {
			found[i].Detail += ", when started from here"
		}
	}
	return found
}

// examineStore finds nothing about a store that is part of the gateway. ttl is lock.ttl; 0: the default.
func examineStore(ctx context.Context, c config.Backend, ttl time.Duration) []finding {
	switch scheme, _, _ := strings.Cut(c.URL, "://"); scheme {
	case "memory":
		return nil
	case "etcd":
		return levels(etcd.Examine(ctx, etcd.Config{URL: c.URL, KeyPrefix: c.KeyPrefix, Lease: ttl}))
	case "zookeeper":
		return levels(zookeeper.Examine(ctx, zookeeper.Config{URL: c.URL, KeyPrefix: c.KeyPrefix, Lease: ttl}))
	case "postgres", "postgresql":
		return levels(postgres.Examine(ctx, postgres.Config{URL: c.URL, ListenURL: c.Postgres.ListenURL, KeyPrefix: c.KeyPrefix}))
	case "mysql":
		return levels(mysql.Examine(ctx, mysql.Config{URL: c.URL, KeyPrefix: c.KeyPrefix}))
	default:
		return examineRedis(ctx, c)
	}
}

func levels(all []backend.Finding) (found []finding) {
	for _, f := range all {
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

// examineRedis looks at one Redis, or at those of a Redlock.
func examineRedis(ctx context.Context, c config.Backend) (found []finding) {
	servers := []string{c.URL}
	if strings.HasPrefix(c.URL, "redlock:") {
		var err error
		if servers, _, err = redlock.Servers(c.URL); err != nil {
			return []finding{{examine.Fail, "address", err.Error(), "correct backend.url"}}
		}
	}
	for i, address := range servers {
		for _, f := range examine.Servers(ctx, redis.Config{URL: address, KeyPrefix: c.KeyPrefix, Publish: c.Redis.Publish}) {
			if len(servers) > 1 {
				f.Check = fmt.Sprintf("server %d: %s", i+1, f.Check)
			}
			found = append(found, finding(f))
		}
	}
	if len(servers) > 1 {
		for _, f := range examine.Distinct(ctx, servers) {
			found = append(found, finding(f))
		}
	}
	return found
}

func writeFindings(w io.Writer, format string, found []finding) error {
	if format == "json" {
		return cli.WriteJSON(w, found)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range found {
		text := f.Detail
		if f.Remedy != "" {
			text += "; to mend it: " + f.Remedy
		}
		// What a server says of itself must not make a second line.
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Level, f.Check, cli.Printable(text))
	}
	return t.Flush()
}
