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

// follows notes that c leads to the server with id, which is trusted. The one to which it led
// before has not heard of what this one grants: it is strange when c leads there again, though
// it has been a master all the time, as after Sentinels that named a wrong one.
func (g *guard) follows(c *goredis.Client, id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.last[c]
	g.last[c] = id
	if run := runOf(was); run != "" && run != runOf(id) {
		g.forgetRun(was)
		g.left = append(g.left, run)
		g.left = g.left[max(0, len(g.left)-rememberServers):]
	}
}

// forgetClient: c is closed, as of a node that the cluster has no more.
func (g *guard) forgetClient(c *goredis.Client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.last, c)
}

func (g *guard) wasLeft(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Contains(g.left, runOf(id))
}

// markOf is the key of the gateways on c, the server with id, if it says that it is trusted; else "".
func (g *guard) markOf(ctx context.Context, c *goredis.Client, id string) string {
	key, marked, err := mark(ctx, c)
	if err != nil || marked != id {
		return ""
	}
	return key
}

// emptied finds out whether the server with id, which is trusted and had its mark in key, has lost
// that, or another gateway has doubts about it: then it is strange from now on. In a cluster the
// slot of the key may have moved, and the key with it.
func (g *guard) emptied(ctx context.Context, c *goredis.Client, id, key string) bool {
	marked, err := c.Get(ctx, key).Result()
	switch {
	case errors.Is(err, goredis.Nil):
		g.doubt(ctx, c, key, "")
		g.suspect(id, "its keys were deleted, or evicted")
	case err == nil && marked == doubted:
		g.suspect(id, "another gateway has found that it may have forgotten some")
	default:
		return false
	}
	g.save()
	return true
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
