package run

import (
	"context"

	"github.com/lockgw/lockgw/socket/client"
)

// gateway is what a run asks of a gateway, over one connection. See client.Client, which
// is one.
type gateway interface {
	BindSession(ctx context.Context, pid int) (client.Token, error)
	Show(ctx context.Context, pid int) error
	Session(ctx context.Context) (client.SessionInfo, error)
	Lock(ctx context.Context, name string, o client.LockOptions) (client.Hold, error)
	Unlock(ctx context.Context, name string, o client.UnlockOptions) (int, error)
	Info(ctx context.Context, name string) (client.Status, error)
	Done() <-chan struct{}
	Err() error
	Close() error
}

var _ gateway = (*client.Client)(nil)

// connect is how a run reaches its gateway.
func (o *options) connect(ctx context.Context, how client.Options) (gateway, error) {
	if o.dial != nil {
		return o.dial(ctx, how)
	}
	c, err := o.Dial(ctx, how)
	if err != nil {
		return nil, err // and no gateway that is a nil *client.Client
	}
	return c, nil
}
