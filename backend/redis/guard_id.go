package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// The id of a server is the id of its run and its replication id, without a break.
//
// The first changes when the server is restarted. What it has on its disk then proves
// nothing, whatever appendfsync says: the disk may have been lost, or an older copy put in
// its place. The second changes when a server takes over from another one. One that led,
// followed and leads again has the same run as before, and may have missed what the other
// one granted meanwhile.
//
// A master changes its replication id in two more cases, in which it has forgotten
// nothing; see unbroken.

// runLength is that of the id of a run.
const runLength = 40

// runOf is the first half of an id.
func runOf(id string) string { return id[:min(runLength, len(id))] }

// errReplica: the server has no id, for it is no master.
var errReplica = fmt.Errorf("%w: this Redis is a replica: connect to its master", backend.ErrRefused)

// idOf asks the server for its id; noServer if it does not tell. The address may lead to another
// server than it did when the connection was made. go-redis makes a new one where it hears
// READONLY, so a replica is asked for something by which it says that.
func idOf(ctx context.Context, c goredis.Cmdable) (string, error) {
	said, err := conn.ReadInfo(ctx, c, "server", "replication")
	switch {
	case err != nil && !conn.Forbidden(err):
		return "", conn.Outcome(err)
	case err != nil || said["run_id"] == "":
		return noServer, nil
	case said["role"] != "master":
		_ = c.Eval(ctx, "#!lua\nreturn 0", nil).Err()
		return "", errReplica
	}
	return said["run_id"] + said["master_replid"], nil
}

// forgetRun drops what is known of the run of id: it has a new replication id. The caller
// has g.mu.
func (g *guard) forgetRun(id string) {
	same := func(other string) bool { return runOf(other) == runOf(id) }
	g.trusted = slices.DeleteFunc(g.trusted, same)
	maps.DeleteFunc(g.strange, func(other string, _ time.Time) bool { return same(other) })
	for c, m := range g.last {
		if same(m.id) {
			g.last[c] = meeting{id: m.id}
		}
	}
}

// unbroken: the server was trusted in this run, and has been a master ever since. It has
// begun a new replication for the first replica that connected, or a while after the last
// one had gone. Then, unlike one that took over, it knows of no replication before this
// one; but one that took over forgets that as well when it has had no replica for
// repl-backlog-ttl, which therefore has to be longer than a quarantine.
func (g *guard) unbroken(ctx context.Context, c *goredis.Client, id, marked string) bool {
	g.mu.Lock()
	trusted := slices.ContainsFunc(append(g.trusted[:len(g.trusted):len(g.trusted)], marked), func(other string) bool {
		return runOf(other) == runOf(id)
	})
	g.mu.Unlock()
	if !trusted {
		return false
	}
	said, err := conn.ReadInfo(ctx, c, "server", "replication")
	if err != nil || said["run_id"]+said["master_replid"] != id || said["role"] != "master" ||
		strings.Trim(said["master_replid2"], "0") != "" {
		return false
	}
	config, err := c.ConfigGet(ctx, "repl-backlog-ttl").Result()
	if err != nil {
		return false
	}
	seconds, err := strconv.Atoi(config["repl-backlog-ttl"])
	return err == nil && (seconds == 0 || time.Duration(seconds)*time.Second > g.period)
}

// A server that is the same as before is not trusted again where its gateways have been
// elsewhere meanwhile, or where it was emptied: neither shows by its id. What follows is
// about these two.

// meeting with a server that was trusted.
type meeting struct {
	id   string
	mark string // the key on it where that id was seen since; "": none
}

// follows notes that c leads to the server with id, which is trusted. The one to which it led
// before has not heard of what this one grants: it is strange when c leads there again, though
// it has been a master all the time, as after Sentinels that named a wrong one.
func (g *guard) follows(c *goredis.Client, id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.last[c].id
	if was != id {
		g.last[c] = meeting{id: id}
	}
	if run := runOf(was); run != "" && run != runOf(id) {
		g.forgetRun(was)
		g.left = append(g.left, was)
		g.left = g.left[max(0, len(g.left)-rememberServers):]
	}
}

// noteMark: the server with id has its mark in key.
func (g *guard) noteMark(c *goredis.Client, id, key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last[c].id == id {
		g.last[c] = meeting{id, key}
	}
}

// forgetClient: c is closed, as of a node that the cluster has no more.
func (g *guard) forgetClient(c *goredis.Client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.last, c)
}

// wasLeft: the server with id was left, and marked is no sign that a gateway has waited there since.
// One that has followed another server meanwhile has another id, which stands there after that.
func (g *guard) wasLeft(id, marked string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.left, func(left string) bool {
		return left == id || runOf(left) == runOf(id) && marked != id
	})
}

// still: the server with id, to which c leads, is trusted as before. It may have lost its mark, or have
// been put in doubt, while this gateway was away, or its connection: then it is strange from now on.
func (g *guard) still(ctx context.Context, c *goredis.Client, id string) (bool, error) {
	was := g.lastOf(c)
	if id == noServer || was.id == id && was.mark != "" {
		return !g.emptied(ctx, c, id), nil
	}
	key, marked, err := mark(ctx, c)
	switch {
	case err != nil:
		return false, err
	case marked == id || was.id == id: // if it is not there still, it cannot be written
	case inDoubt(key, marked):
		g.lost(ctx, c, id, key, marked)
		return false, nil
	}
	g.follows(c, id)
	if marked == id {
		g.noteMark(c, id, key)
	}
	return true, nil
}

// inDoubt: marked, in key, is not what is on a server that was trusted and has forgotten nothing. Where
// it is "" in another key than the first one, that may be in a slot that has moved.
func inDoubt(key, marked string) bool {
	return marked == doubted || marked == "" && key == fmt.Sprintf(guardKey, 0)
}

// emptied finds out whether the server with id, which is trusted and had its mark, has lost that,
// or another gateway has doubts about it: then it is strange from now on. In a cluster the slot of
// the key may have moved, and the key with it.
func (g *guard) emptied(ctx context.Context, c *goredis.Client, id string) bool {
	was := g.lastOf(c)
	if was.id != id || was.mark == "" {
		return false
	}
	marked, err := c.Get(ctx, was.mark).Result()
	if err != nil && !errors.Is(err, goredis.Nil) || err == nil && marked != doubted {
		return false
	}
	g.lost(ctx, c, id, was.mark, marked)
	return true
}

// lost: in place of the id of the server, key has marked, which is doubted or "".
func (g *guard) lost(ctx context.Context, c *goredis.Client, id, key, marked string) {
	if marked == "" {
		g.doubt(ctx, c, key, "")
		g.suspect(id, "its keys were deleted, or evicted")
	} else {
		g.suspect(id, "another gateway has found that it may have forgotten some")
	}
	g.save()
}

func (g *guard) lastOf(c *goredis.Client) meeting {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last[c]
}

// mayDrop: the server with id may drop what it has. It is strange, and begins to be so with each time
// that this is seen.
func (g *guard) mayDrop(ctx context.Context, c *goredis.Client, id string) {
	if key, marked, err := mark(ctx, c); err == nil && marked != doubted {
		g.doubt(ctx, c, key, marked)
	}
	g.suspect(id, "it may have dropped some")
	g.mu.Lock()
	g.strange[id] = time.Now()
	g.mu.Unlock()
	g.save()
}

// scout has the gateway follow where an address leads, as its like in package sqltable does. The
// connections to a master that Sentinels name are made anew often in any case.
func (r *trust) scout(ctx context.Context, t *Table) {
	for backend.Wait(ctx, backend.ScoutEach(t.cfg.Lease)) {
		for c, v := range r.all() {
			if v.id == noServer || c.Options().ConnMaxLifetime > 0 {
				continue
			}
			id, err := idAnew(ctx, c)
			if err == nil && runOf(id) != runOf(v.id) { // else others tell
				t.guard.log.Warn("the address of Redis leads to another server than before, or to another run of it; all connections are made anew", "before", v.id, "now", id)
				conn.Anew(ctx, c)
				r.forget(c)
			}
		}
	}
}

// idAnew is idOf over a new connection.
func idAnew(ctx context.Context, c *goredis.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*conn.IOTimeout)
	defer cancel()
	one := conn.New(c.Options())
	defer one.Close()
	return idOf(ctx, one)
}
