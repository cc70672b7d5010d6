package redis

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
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
	Mend   string // what to do about it; "" where nothing has to be done
}

// examineTimeout bounds each question to the server.
const examineTimeout = 3 * time.Second

// Examine looks for what is wrong with the server of cfg, its settings and what this
// user may do there. It takes locks of a name that nobody else uses; what is left
// of it ends within a minute. cfg.Node and cfg.FenceTTL are not used.
func Examine(ctx context.Context, cfg Config) []Finding {
	cfg.Node = backend.Node{ID: "doctor-" + rand.Text(), Incarnation: 1}
	cfg.FenceTTL = time.Minute
	b, err := Open(ctx, cfg)
	if err != nil {
		return []Finding{{Fail, "address", err.Error(), "correct backend.url or backend.key_prefix"}}
	}
	defer b.Close()
	x := &examination{b: b}
	began := time.Now()
	if err := x.ping(ctx); err != nil {
		return []Finding{{Fail, "connection", err.Error(), "see that the server runs, that it can be reached from here, and that the address, user and password are right"}}
	}
	x.add(Finding{OK, "connection", fmt.Sprintf("answered after %v", time.Since(began).Round(10*time.Microsecond)), ""})
	x.settings(ctx)
	x.rights(ctx)
	x.clock(ctx)
	x.latency(ctx)
	return x.findings
}

// examination of one server.
type examination struct {
	b        *Backend
	findings []Finding
}

func (x *examination) add(f Finding) { x.findings = append(x.findings, f) }

func (x *examination) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	return outcome(x.b.client.Ping(ctx).Err())
}

// askedSettings are those that the checks look at; others may be secret.
var askedSettings = []any{"config", "get", "maxmemory", "maxmemory-policy", "appendonly", "save", "min-replicas-to-write", "tcp-keepalive", "timeout", "maxclients"}

// settings reads what the server says of itself, as far as it does.
func (x *examination) settings(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	info, err := readInfo(ctx, x.b.client)
	if err != nil {
		x.add(Finding{Warn, "info", "not told, so that its version and role are not known: " + outcome(err).Error(), "allow this user INFO: ACL SETUSER ... +info"})
	}
	asked := goredis.NewMapStringStringCmd(ctx, askedSettings...)
	if err := x.b.client.Process(ctx, asked); err != nil {
		x.add(Finding{
			Warn, "configuration", "not told, so that only what INFO tells was looked at: " + outcome(err).Error(),
			"allow this user to read it, ACL SETUSER ... +config|get, or look yourself at timeout, tcp-keepalive, save and min-replicas-to-write",
		})
	}
	for _, check := range serverChecks {
		if f := check(serverFacts{info, asked.Val()}); f.Level != "" {
			x.add(f)
		}
	}
}

// clock compares the server's time with ours.
func (x *examination) clock(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	began := time.Now()
	theirs, err := x.b.client.Time(ctx).Result()
	if err != nil {
		x.add(Finding{Fail, "clock", outcome(err).Error(), "allow this user TIME: ACL SETUSER ... +time"})
		return
	}
	x.add(clockFinding(theirs.Sub(began.Add(time.Since(began) / 2))))
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
		f.Level, f.Mend = Warn, "use a Redis nearer by: a lock that another machine has to pass on costs two such times"
	}
	return f
}
