package history_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
)

type etcdStore struct {
	keeperStore
	client *clientv3.Client
}

func startEtcd(t testing.TB) store {
	s := etcdtest.Start(t)
	return &etcdStore{keeper(&s.Keeper, s.Addr), etcdtest.Client(t, s)}
}

func (s *etcdStore) config(addr string, _ scenario) string {
	return fmt.Sprintf(`{url: "etcd://%s"}`, addr)
}

func (s *etcdStore) left(ctx context.Context) (left []string) {
	r, err := s.client.Get(ctx, "lockgw/l/", clientv3.WithPrefix())
	if err != nil {
		return []string{err.Error()}
	}
	for _, kv := range r.Kvs {
		_, record, _ := strings.Cut(string(kv.Value), "\n")
		if !nobody(record) {
			left = append(left, fmt.Sprintf("%s %s", kv.Key, kv.Value))
		}
	}
	return left
}

func (s *etcdStore) tell(do func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := do(ctx); err != nil {
		s.T.Errorf("nemesis: etcd: %v", err)
	}
}

// upset has it forget all older versions of its keys.
func (s *etcdStore) upset() {
	s.tell(func(ctx context.Context) error {
		r, err := s.client.Get(ctx, "lockgw/mark")
		if err != nil {
			return err
		}
		if _, err = s.client.Compact(ctx, r.Header.Revision); errors.Is(err, rpctypes.ErrCompacted) {
			return nil // nothing was written since
		}
		return err
	})
}

// cut deletes the keys of all messages.
func (s *etcdStore) cut() {
	s.tell(func(ctx context.Context) error {
		_, err := s.client.Delete(ctx, "lockgw/mail/", clientv3.WithPrefix())
		return err
	})
}
