package stores

import (
	"context"
	"errors"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/bench/callers"
)

// Opener opens what a gateway asks the store by, for a node.
type Opener func(node string) (ledger.Table, error)

// RedisTable opens tables in the Redis of that URL.
func RedisTable(url string) Opener {
	return func(node string) (ledger.Table, error) {
		return redis.OpenTable(redis.Config{URL: url, Node: backend.Node{ID: node}})
	}
}

// Requests are those of a lockgw pair as a gateway sends them, without the gateway.
func Requests(open Opener) func(n int) (callers.Crew, error) {
	return func(n int) (callers.Crew, error) {
		t, err := open(storeNode)
		if err != nil {
			return callers.Crew{}, err
		}
		t.Listen(func(ledger.Addressed) {})
		c := callers.Crew{Close: t.Close}
		for i := range n {
			c.Ops = append(c.Ops, storePair(t, "store:"+callers.Own(i)))
		}
		return c, nil
	}
}

const storeNode = "bench"

// storePair takes name and gives it back. Its node knows what is there, as a gateway does
// that has used it before; first it has to look, as a record stays for a minute.
func storePair(t ledger.Table, name string) callers.Op {
	caller := ledger.Caller{Owner: "3f2504e0-4f89-41d3-9a0c-0305e82c3301:1", Entries: 1}
	var seen ledger.Reply
	looked := false
	return func() (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if !looked {
			if seen, err = t.Look(ctx, name); err != nil {
				return err
			}
			looked = true
		}
		for _, do := range []ledger.Op{{Want: 1, Turns: 64, TTL: callers.TTL, Callers: []ledger.Caller{caller}}, {Verb: ledger.Leave}} {
			do.Node = storeNode
			next, effects := ledger.Step(seen.Record, do, 0)
			r, err := t.Swap(ctx, ledger.Swap{Name: name, Base: seen.Version, Record: next, Effects: effects})
			if err != nil || !r.Written {
				return errors.Join(errors.New("not written"), err)
			}
			seen = r
		}
		return nil
	}
}
