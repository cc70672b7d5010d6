package stores

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/etcd"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/rig"
)

// serveEtcd starts an etcd of one member, whose writes reach the disk.
func serveEtcd(ctx context.Context, r *rig.Rig) (*served, error) {
	program, err := exec.LookPath("etcd")
	if err != nil {
		return nil, fmt.Errorf("%w: install it with apt-get install etcd-server", err)
	}
	addr, err := rig.FreeAddr()
	if err != nil {
		return nil, err
	}
	peer, err := rig.FreeAddr()
	if err != nil {
		return nil, err
	}
	client, err := etcdClient(addr)
	if err != nil {
		return nil, err
	}
	ready := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := client.Get(ctx, "ready")
		return err
	}
	if err := r.Start(ctx, "store", ready, program, "--name", "m0", "--data-dir", filepath.Join(r.Dir, "etcd"), "--logger", "zap", "--log-level", "error",
		"--listen-client-urls", "http://"+addr, "--advertise-client-urls", "http://"+addr,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster", "m0=http://"+peer); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &served{
		url:  "etcd://" + addr,
		trip: shared(client, etcdTrip), write: shared(client, etcdWrite),
		table: func(node string) (ledger.Table, error) {
			return etcd.OpenTable(etcd.Config{URL: "etcd://" + addr, Node: backend.Node{ID: node}, Lease: callers.TTL})
		},
		// It waits some 100 ms for each hand-over.
		others: []other{{name: "concurrency.Mutex, one session each", open: mutex(addr), most: 20}},
		pair:   bound{0, 6}, pass: bound{0, 9}, close: client.Close,
	}, nil
}

func etcdClient(addr string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{"http://" + addr}, Logger: zap.NewNop()})
}

func etcdTrip(c *clientv3.Client, _ int) (callers.Op, error) {
	return func() error {
		_, err := c.Get(context.Background(), "ready")
		return err
	}, nil
}

// etcdWrite is a record of the usual size, compared by its revision.
func etcdWrite(c *clientv3.Client, i int) (callers.Op, error) {
	key, value := "bench/"+callers.Own(i), strings.Repeat("x", 300)
	r, err := c.Put(context.Background(), key, value)
	if err != nil {
		return nil, err
	}
	rev := r.Header.Revision
	return func() error {
		r, err := c.Txn(context.Background()).If(clientv3.Compare(clientv3.ModRevision(key), "=", rev)).Then(clientv3.OpPut(key, value)).Commit()
		if err == nil && !r.Succeeded {
			err = errors.New("not written")
		}
		if err == nil {
			rev = r.Header.Revision
		}
		return err
	}, nil
}

// mutex is the lock of etcd's own library. A session of its own, which is a lease, is an
// owner of its own.
func mutex(addr string) func(name string) (lock, unlock callers.Op, closes func() error, err error) {
	return func(name string) (lock, unlock callers.Op, closes func() error, err error) {
		c, err := etcdClient(addr)
		if err != nil {
			return nil, nil, nil, err
		}
		s, err := concurrency.NewSession(c)
		if err != nil {
			return nil, nil, nil, errors.Join(err, c.Close())
		}
		m, ctx := concurrency.NewMutex(s, "mutex/"+name), context.Background()
		return func() error { return m.Lock(ctx) }, func() error { return m.Unlock(ctx) },
			func() error { return errors.Join(s.Close(), c.Close()) }, nil
	}
}
