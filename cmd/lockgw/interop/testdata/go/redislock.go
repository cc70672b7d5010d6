package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"
)

type redislockLock struct {
	client *redislock.Client
	name   string
	held   *redislock.Lock
}

func redislockLocks(client *goredis.Client) func(string) lock {
	rl := redislock.New(client)
	return func(name string) lock { return &redislockLock{client: rl, name: name} }
}

// acquire: to redislock a key of another type is an error and no reason to try
// again, so that is done here.
func (l *redislockLock) acquire(ctx context.Context, wait, lease time.Duration) (_ bool, err error) {
	for end := time.Now().Add(wait); ; time.Sleep(retryDelay) {
		l.held, err = l.client.Obtain(ctx, l.name, lease, nil)
		if err == nil || !errors.Is(err, redislock.ErrNotObtained) && !strings.HasPrefix(err.Error(), "WRONGTYPE") {
			return err == nil, err
		}
		if time.Now().After(end) {
			return false, nil
		}
	}
}

func (l *redislockLock) release(ctx context.Context) (bool, error) {
	err := l.held.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) || err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE") {
		return false, nil
	}
	return err == nil, err
}

func (l *redislockLock) extend(ctx context.Context, lease time.Duration) error {
	return l.held.Refresh(ctx, lease, nil)
}
