package conn

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// others are the Sentinels that are there beside those of the address. The client library looks for
// them only when it connects to one, and stays with that one. Of those that have come since it knows
// nothing when that one is gone, as when all move to other addresses one after the other.
type others struct {
	opt goredis.FailoverOptions // as the address has it

	mu    sync.Mutex // guards the fields below
	known []string   // the Sentinels that run, as one of them has told
	next  time.Time  // when to ask again
}

// connect takes another Sentinel in place of one of the address that cannot be reached.
func (o *others) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := o.opt.Dialer(ctx, network, addr)
	if err == nil {
		o.look()
		return c, nil
	}
	if !slices.Contains(o.opt.SentinelAddrs, addr) {
		return nil, err
	}
	for _, other := range o.there() {
		if c, failed := o.opt.Dialer(ctx, network, other); failed == nil {
			return c, nil
		}
	}
	return nil, err
}

func (o *others) there() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known
}

// look asks who is there, as often as who the master is.
func (o *others) look() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if now.Before(o.next) {
		return
	}
	o.next = now.Add(masterTTL)
	go o.ask(context.Background())
}

// ask believes the first Sentinel that answers.
func (o *others) ask(ctx context.Context) {
	for _, addr := range slices.Concat(o.opt.SentinelAddrs, o.there()) {
		told, err := o.askOne(ctx, addr)
		if err != nil {
			continue
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.known = told
		return
	}
}

// askOne is the Sentinel at addr and those that it knows and that answer it.
func (o *others) askOne(ctx context.Context, addr string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, sentinelPatience)
	defer cancel()
	c := goredis.NewSentinelClient(&goredis.Options{
		Addr: addr, Dialer: o.opt.Dialer, ClientName: o.opt.ClientName, Protocol: o.opt.Protocol,
		Username: o.opt.SentinelUsername, Password: o.opt.SentinelPassword,
		DialTimeout: o.opt.DialTimeout, ReadTimeout: o.opt.ReadTimeout, WriteTimeout: o.opt.WriteTimeout,
		MaxRetries: o.opt.MaxRetries, DialerRetries: o.opt.DialerRetries, ContextTimeoutEnabled: o.opt.ContextTimeoutEnabled,
		PipelinePoolSize: o.opt.PipelinePoolSize, DisableIdentity: o.opt.DisableIdentity, PoolSize: 1,
	})
	defer func() { _ = c.Close() }()
	sentinels, err := c.Sentinels(ctx, o.opt.MasterName).Result()
	if err != nil {
		return nil, err
	}
	told := []string{addr}
	for _, s := range sentinels {
		if s["ip"] != "" && s["port"] != "" && !strings.Contains(s["flags"], "s_down") {
			told = append(told, net.JoinHostPort(s["ip"], s["port"]))
		}
	}
	return told, nil
}
