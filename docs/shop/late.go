package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	goredis "github.com/redis/go-redis/v9"
)

// writeFenced writes the stock unless a holder with a larger fence has been here.
//
//	KEYS stock, newest fence; ARGV stock, fence
var writeFenced = goredis.NewScript(`
	if tonumber(redis.call('GET', KEYS[2]) or 0) > tonumber(ARGV[2]) then return 0 end
	redis.call('SET', KEYS[1], ARGV[1])
	redis.call('SET', KEYS[2], ARGV[2])
	return 1`)

const fenceKey = "shop:fence"

// late is what came of two writes by a holder who did not notice that its lease
// was over, each after the next holder had written.
type late struct {
	first, second uint64 // the fences
	plain         bool   // the plain write went through
	fenced        bool   // the write that shows its fence went through
	checked       bool   // the gateway said that the fence is not the newest
}

func (l late) String() string {
	verdict := map[bool]string{true: "overwrote the stock", false: "was refused"}
	return fmt.Sprintf("a holder paused for longer than its lease, and woke up after the next one had written:\n"+
		"  its plain write %s; its write with the old fence (%d, newest %d) %s\n",
		verdict[l.plain], l.first, l.second, verdict[l.fenced])
}

// lateWrite plays the case that no lease can prevent: the first holder has a
// lease of one second that nobody renews, and takes no notice of its end.
func (m *mall) lateWrite(ctx context.Context) (late, error) {
	g := m.gateways[0]
	first, err := (&httpLock{client: g.http}).acquire(ctx, "?ttl=1s&renew=false")
	if err != nil {
		return late{}, err
	}
	next := &httpLock{client: m.gateways[len(m.gateways)-1].http}
	second, err := next.enter(ctx)
	if err != nil {
		return late{}, err
	}
	l := late{first: first.Fence, second: second}
	if err := m.write(ctx, 41, second); err != nil {
		return l, err
	}
	l.fenced, err = m.tryWrite(ctx, 99, first.Fence)
	if err != nil {
		return l, err
	}
	if l.checked, err = outdated(ctx, next, first.Fence); err != nil {
		return l, err
	}
	if err := m.redis.Set(ctx, stockKey, 99, 0).Err(); err != nil {
		return l, err
	}
	left, err := m.redis.Get(ctx, stockKey).Int()
	l.plain = left == 99
	return l, errors.Join(err, next.leave(ctx))
}

func (m *mall) write(ctx context.Context, stock int, fence uint64) error {
	if ok, err := m.tryWrite(ctx, stock, fence); err != nil || ok {
		return err
	}
	return fmt.Errorf("the write with the newest fence %d was refused", fence)
}

func (m *mall) tryWrite(ctx context.Context, stock int, fence uint64) (bool, error) {
	return writeFenced.Run(ctx, m.redis, []string{stockKey, fenceKey}, stock, fence).Bool()
}

// outdated asks the gateway about a fence, for a resource that cannot keep one.
func outdated(ctx context.Context, l *httpLock, fence uint64) (bool, error) {
	_, err := l.call(ctx, http.MethodGet, fmt.Sprintf("/check?fence=%d", fence), "")
	var no *refused
	if errors.As(err, &no) && no.status == http.StatusPreconditionFailed {
		return true, nil
	}
	return false, err
}
