package redis

import (
	"context"
	"errors"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/requests"
)

// triesOfGrant bounds how often a server may forget its script while a grant is asked for.
const triesOfGrant = 4

// grant runs swap.lua for a node that will hold what it did not hold before.
// frees: a full server carries it out, too.
func (t *Table) grant(ctx context.Context, raw string, m *requests.Message, frees bool) (any, error) {
	if t.cfg.Guard != GuardQuarantine {
		c, err := t.servers.Of(ctx, raw)
		if err == nil {
			err = t.tried(ctx, c, raw)
		}
		if err != nil {
			return nil, err
		}
		return t.requests.Eval(ctx, raw, t.swaps.grant, m)
	}
	var err error
	for range triesOfGrant {
		var c *goredis.Client
		if c, err = t.servers.Of(ctx, raw); err != nil {
			return nil, err
		}
		var v *verdict
		if v, err = t.verdict(ctx, c); err != nil {
			return nil, err
		}
		s := v.script
		if frees && v.frees != nil {
			s = v.frees
		}
		if s == nil {
			return nil, v.refuses()
		}
		if err := t.tried(ctx, c, raw); err != nil {
			return nil, err
		}
		var val any
		val, err = t.requests.Eval(ctx, raw, s, m)
		switch {
		case err == nil:
			return val, nil
		case errors.Is(err, conn.ErrForgotten):
			t.trust.forget(c)
		case errors.Is(err, conn.ErrElsewhere):
			t.trust.forget(c)
			return t.grantElsewhere(ctx, m, err)
		default:
			t.trust.forget(c)
			return nil, err
		}
	}
	return nil, err
}

// grantElsewhere follows a redirection, with a script that asks the server itself.
func (t *Table) grantElsewhere(ctx context.Context, m *requests.Message, why error) (any, error) {
	m.Add(t.guard.ids())
	v, err := t.requests.Follow(ctx, t.swaps.grantIfKnown, m, why)
	if a, ok := v.([]any); ok && len(a) > 0 && a[0] == "strange" {
		t.lookAtServers(true)
		return nil, errUnknownServer
	}
	return v, err
}

// untrusted is a verdict on the server with id, which grants nothing because of err.
func untrusted(id string, err error) *verdict {
	v := &verdict{id: id, later: err, until: time.Now().Add(rest)}
	if later, ok := errors.AsType[*backend.Later](err); ok {
		v.over = time.Now().Add(later.After)
		v.until = time.Now().Add(min(rest, later.After))
	}
	return v
}

// refuses is why the server grants nothing. When to ask again counts from now.
func (v *verdict) refuses() error {
	if v.over.IsZero() {
		return v.later
	}
	return &backend.Later{Err: v.later, After: max(0, time.Until(v.over))}
}
