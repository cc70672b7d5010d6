package etcd

import (
	"context"
	"errors"
	"net"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/dialer"
)

const (
	// attempts is how often the library sends what it may send again, such as a read, or
	// anything after a new login. By default it goes on to the end of the request's time,
	// and then does not say what was wrong.
	attempts     = 3
	loginTimeout = 2 * time.Second
	// A member that does not answer is found out by pings; etcd takes none more often.
	pingEvery   = 5 * time.Second
	pingTimeout = 2 * time.Second
	// A member that comes back is found again within a second.
	reconnectLeast = 50 * time.Millisecond
	reconnectMost  = time.Second
)

var scheme = dialer.Scheme{Name: "etcd", Port: "2379", Path: "lockgw", What: "prefix"}

// CheckURL says what is wrong with an etcd:// URL. The error does not have the password.
func CheckURL(raw string) error {
	_, err := scheme.Parse(raw)
	return err
}

// atOnce has a request that no member can be reached for say so, and why: by default the library
// has it wait to the end of its time. What a learner has refused goes to the next of so many members.
func atOnce(members int) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) (err error) {
		opts = append(opts, grpc.WaitForReady(false))
		for n := range attempts * members {
			if n >= members && !backend.Wait(ctx, reconnectLeast) { // there may be no connection yet to the others
				break
			}
			if err = invoke(ctx, method, req, reply, c, opts...); !learns(err) {
				break
			}
		}
		return err
	}
}

// learns: a member has said err that is a learner, and has done nothing of the request.
func learns(err error) bool { return errors.Is(toEtcd(err), errLearner) }

var errLearner = rpctypes.Error(rpctypes.ErrGRPCNotSupportedForLearner)

// login is what a client logs in by. The library would do so with the password that it was given first,
// and send the token of before with that. Once the password is another, etcd knows that token no more, and
// may refuse the login because of it.
type login struct {
	clientv3.Auth // of a client without a token
	password      func() string
}

func (l login) Authenticate(ctx context.Context, name, first string) (*clientv3.AuthenticateResponse, error) {
	return l.Auth.Authenticate(ctx, name, dialer.Password(l.password, first))
}

// connect makes a client that lives as long as life. It reaches for etcd only if there is a
// password; password says which one that is now, and may be nil.
func connect(life context.Context, a dialer.Address, password func() string) (*clientv3.Client, error) {
	cfg := clientv3.Config{
		Context: life, Logger: zap.NewNop(),
		MaxUnaryRetries: attempts, DialTimeout: loginTimeout, DialKeepAliveTime: pingEvery, DialKeepAliveTimeout: pingTimeout,
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(atOnce(len(a.Members))), grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnectLeast, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMost},
			MinConnectTimeout: loginTimeout,
		}), grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return dialer.New(loginTimeout).DialContext(ctx, "tcp", addr)
		})},
	}
	scheme := "http://"
	if a.TLS != nil {
		scheme = "https://"
		cfg.DialOptions = append(cfg.DialOptions, grpc.WithTransportCredentials(secured{credentials.NewTLS(nil), a.TLS}))
	}
	for _, m := range a.Members {
		cfg.Endpoints = append(cfg.Endpoints, scheme+m)
	}
	c, err := clientv3.New(cfg)
	if err != nil || a.User == "" {
		return c, err
	}
	cfg.Username, cfg.Password = a.User, dialer.Password(password, a.Password)
	user, err := clientv3.New(cfg)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	user.Auth = login{c, password}
	context.AfterFunc(user.Ctx(), func() { _ = c.Close() })
	return user, nil
}

// secured has each connection made with the files of TLS as they are then. The library keeps one
// configuration for all.
type secured struct {
	credentials.TransportCredentials // with none of the files, and says what is the same for all
	files                            *dialer.TLS
}

func (s secured) ClientHandshake(ctx context.Context, authority string, tcp net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(s.files.Config()).ClientHandshake(ctx, authority, tcp)
}

func (s secured) Clone() credentials.TransportCredentials {
	return secured{s.TransportCredentials.Clone(), s.files}
}
