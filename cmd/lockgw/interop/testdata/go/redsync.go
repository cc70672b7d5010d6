package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"
)

const retryDelay = 5 * time.Millisecond

type redsyncLock struct {
	sync  *redsync.Redsync
	name  string
	mutex *redsync.Mutex
}

func redsyncLocks(client *goredis.Client) func(string) lock {
	rs := redsync.New(pool.NewPool(client))
	return func(name string) lock { return &redsyncLock{sync: rs, name: name} }
}

func (l *redsyncLock) acquire(ctx context.Context, wait, lease time.Duration) (bool, error) {
	l.mutex = l.sync.NewMutex(l.name, redsync.WithExpiry(lease), redsync.WithRetryDelay(retryDelay), redsync.WithTries(1+int(wait/retryDelay)))
	err := l.mutex.LockContext(ctx)
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) {
		return false, nil
	}
	return err == nil, err
}

func (l *redsyncLock) release(ctx context.Context) (bool, error) {
	ok, err := l.mutex.UnlockContext(ctx)
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired) {
		return false, nil
	}
	return ok, err
}

func (l *redsyncLock) extend(ctx context.Context, _ time.Duration) error {
	_, err := l.mutex.ExtendContext(ctx)
	return err
}
