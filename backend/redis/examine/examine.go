// Package examine looks at Redis servers before a gateway uses them, as `lockgw doctor`
// does: at their settings, and at what this user may do there.
package examine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/selftest"
)

// Level says how much a Finding matters.
type Level string

// OK needs no hand; with Warn locks work, but less well or less safely than they
// could; with Fail they do not.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Fail Level = "fail"
)

// Finding is what was found out about one thing.
type Finding struct {
	Level  Level
	Check  string // what was looked at, a word or two
	Detail string
	Remedy string // what to do about it; "" where nothing has to be done
}

// timeout bounds each question to the server.
const timeout = 3 * time.Second

// Servers looks for what is wrong with the server of cfg, its settings and what this
// user may do there. It takes locks of a name that nobody else uses; what is left
// of it ends within a minute or so. cfg.Node, cfg.FenceTTL and cfg.Guard are not used.
func Servers(ctx context.Context, cfg redis.Config) []Finding {
	cfg.Node = backend.Node{ID: "doctor-" + rand.Text()}
	cfg.FenceTTL, cfg.Guard = 0, redis.GuardNone // the lock that is taken here may be forgotten
	t, err := redis.OpenTable(cfg)
	if err != nil {
		return []Finding{{Fail, "address", err.Error(), "correct backend.url or backend.key_prefix"}}
	}
	defer t.Close()
	x := &examination{table: t, prefix: cfg.KeyPrefix, clustered: conn.Clustered(cfg.URL)}
	if strings.Contains(cfg.URL, "+sentinel://") {
		x.sentinel, _ = conn.SentinelOptions(cfg.URL) // OpenTable has read it
	}
	if err := x.connect(ctx); err != nil {
		if conn.RefusedLogin(err) {
			return []Finding{{Fail, "password", err.Error(), loginRemedy}}
		}
		if errors.Is(err, backend.ErrRefused) && !errors.Is(err, backend.ErrUnreachable) {
			return []Finding{{Fail, "connection", err.Error(), refusedRemedy}}
		}
		return []Finding{{Fail, "connection", err.Error(), connectionRemedy}}
	}
	x.servers(ctx)
	if x.sound(ctx) {
		x.rights(ctx)
	}
	x.clock(ctx)
	x.latency(ctx)
	return x.findings
}

const connectionRemedy = "see that the server runs, that it can be reached from here, that the address, user and password are right, and that rediss:// stands where the port wants TLS"

const refusedRemedy = "do what it says: the server runs and can be reached, and refuses"

const loginRemedy = "correct the user and password in backend.url, or in the file of backend.password_file; " +
	"on the server, requirepass or ACL LIST says which there are. The server runs and can be reached"

const unsoundRemedy = "connect to Redis itself, without what stands between it and this machine, and to nothing that is only said to be compatible; see docs/stores.md"

// sound: no server, or what is in its place, is seen to write what it has to refuse. What
// keeps it from being tried, rights tells.
func (x *examination) sound(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	for _, c := range x.masters {
		if err := x.table.Try(ctx, c); errors.Is(err, selftest.ErrUnsound) {
			x.add(Finding{Fail, "locks", selftest.Reason(err), unsoundRemedy})
			return false
		}
	}
	return true
}

// examination of one server, or of all masters of a cluster.
type examination struct {
	table     *redis.Table
	prefix    string // Config.KeyPrefix
	clustered bool
	sentinel  *goredis.FailoverOptions // nil: none
	masters   []*goredis.Client
	findings  []Finding
}

func (x *examination) add(f Finding) { x.findings = append(x.findings, f) }

// connect finds the servers. One of a cluster that does not answer is left out of what
// comes next, unless none does.
func (x *examination) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	found, err := x.table.Survey(ctx)
	if err != nil {
		return err
	}
	x.masters = found.Masters
	if found.Lacking != nil {
		x.add(Finding{Fail, "connection", found.Lacking.Error(), connectionRemedy})
		return nil
	}
	x.add(Finding{OK, "connection", fmt.Sprintf("answered after %v", time.Since(began).Round(10*time.Microsecond)), ""})
	return nil
}

func (x *examination) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return conn.Each(x.masters, func(_ int, c *goredis.Client) error { return conn.Outcome(c.Ping(ctx).Err()) })
}

// askedSettings are those that the checks look at; others may be secret.
var askedSettings = []any{"config", "get", "maxmemory", "maxmemory-policy", "appendonly", "save", "min-replicas-to-write", "tcp-keepalive", "timeout", "maxclients", redis.NotifySetting}

// settings reads what the server says of itself, as far as it does.
func (x *examination) settings(ctx context.Context, c *goredis.Client) (found []Finding) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	info, err := conn.ReadInfo(ctx, c)
	if err != nil {
		found = append(found, Finding{Warn, "info", "not told, so that its version and role are not known: " + conn.Outcome(err).Error(), "allow this user INFO: ACL SETUSER ... +info"})
	}
	asked := goredis.NewMapStringStringCmd(ctx, askedSettings...)
	if err := c.Process(ctx, asked); err != nil {
		found = append(found, Finding{
			Warn, "configuration", "not told, so that only what INFO tells was looked at: " + conn.Outcome(err).Error(),
			"allow this user to read it, ACL SETUSER ... +config|get, or look yourself at timeout, tcp-keepalive, save and min-replicas-to-write",
		})
	}
	facts := serverFacts{info: info, config: asked.Val(), clustered: x.clustered}
	if x.sentinel != nil {
		facts.watched = x.sentinel.MasterName
	}
	for _, check := range serverChecks {
		if f := check(facts); f.Level != "" {
			found = append(found, f)
		}
	}
	return found
}

// clock compares the servers' time with ours, and tells of the one that is furthest off.
func (x *examination) clock(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var worst time.Duration
	for _, c := range x.masters {
		began := time.Now()
		theirs, err := c.Time(ctx).Result()
		if err != nil {
			x.add(Finding{Fail, "clock", conn.Outcome(err).Error(), "allow this user TIME: ACL SETUSER ... +time"})
			return
		}
		if ahead := theirs.Sub(began.Add(time.Since(began) / 2)); ahead.Abs() >= worst.Abs() {
			worst = ahead
		}
	}
	x.add(clockFinding(worst))
}

// clockFinding: leases are measured by the server alone, but fences do not fall
// behind those that a server has forgotten only if its clock goes on.
func clockFinding(ahead time.Duration) Finding {
	if ahead.Abs() <= time.Second {
		return Finding{OK, "clock", fmt.Sprintf("differs from ours by %v", ahead.Abs().Round(time.Millisecond)), ""}
	}
	return Finding{
		Warn, "clock", fmt.Sprintf("the server's clock is %+.1f s against ours; leases do not depend on it, but fences after a loss of data do", ahead.Seconds()),
		"run NTP on both machines",
	}
}

const (
	pings       = 20
	slowLatency = 50 * time.Millisecond
)

// latency asks a few times.
func (x *examination) latency(ctx context.Context) {
	var sum, worst time.Duration
	for range pings {
		began := time.Now()
		if err := x.ping(ctx); err != nil {
			x.add(Finding{Fail, "latency", err.Error(), "see what else the server and the network do"})
			return
		}
		took := time.Since(began)
		sum, worst = sum+took, max(worst, took)
	}
	x.add(latencyFinding(sum/pings, worst))
}

func latencyFinding(mean, worst time.Duration) Finding {
	f := Finding{OK, "latency", fmt.Sprintf("%v on average, %v at worst, of %d PINGs",
		mean.Round(time.Microsecond), worst.Round(time.Microsecond), pings), ""}
	if mean > slowLatency {
		f.Level, f.Remedy = Warn, "use a Redis nearer by: a lock that another machine has to pass on costs two such times"
	}
	return f
}
