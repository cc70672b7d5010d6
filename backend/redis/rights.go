package redis

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/requests"
	"github.com/lockgw/lockgw/backend/selftest"
)

//go:embed rights.lua
var rightsLua string

var rightsScript = requests.NewScript("allow-oom", rightsLua)

// lacking says which commands of the scripts the user may not use, where node tries its store;
// nil: none, or it cannot be told. It comes before anything else is written: what is stopped
// half-way leaves a lock without an end.
func (t *Table) lacking(ctx context.Context, node string) error {
	raw := t.cfg.KeyPrefix + selftest.Name(node)
	m := requests.NewMessage(1, 6)
	m.Add(recordKey(raw), ":rights")
	m.Add("PUBLISH")
	m.Add(channelOfNode, t.cfg.Node.ID)
	if t.publish.Plain() {
		m.Add("PUBLISH")
		m.Add(channelOf(raw))
	}
	if t.publish.Sharded() {
		m.Add("SPUBLISH")
		m.Add(channelOf(raw))
	}
	v, err := t.requests.Eval(ctx, raw, rightsScript, m)
	if err != nil {
		return err
	}
	all, _ := v.([]any)
	names := make([]string, len(all))
	for i := range all {
		names[i], _ = all[i].(string)
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%w: the Redis user may not do what lockgw's scripts do: allow it %s; see ACL SETUSER, and docs/redis-layout.md",
		backend.ErrRefused, strings.Join(slices.Compact(names), ", "))
}
