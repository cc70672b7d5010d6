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
	*etcdtest.Server
	t      testing.TB
	client *clientv3.Client
	empty  string // a copy of what it had at the beginning
}

func startEtcd(t testing.TB) store {
	s := &etcdStore{Server: etcdtest.Start(t), t: t}
	s.Kill()
	s.empty = s.Copy()
	s.Restart()
	s.client = etcdtest.Client(t, s.Server)
	return s
}

func (s *etcdStore) server() string { return s.Addr }

func (s *etcdStore) config(addr string, _ bool) string {
	return fmt.Sprintf(`{url: "etcd://%s"}`, addr)
}

// listens: messages come by the connection of all requests.
func (*etcdStore) listens([]byte) bool { return false }

func (*etcdStore) scripts(testing.TB) int64 { return 0 }

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
		s.t.Errorf("nemesis: etcd: %v", err)
	}
}

func (s *etcdStore) slow(d time.Duration) {
	s.Pause()
	time.Sleep(d)
	s.Resume()
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

func (s *etcdStore) restart() bool {
	s.Restart()
	return true
}

func (s *etcdStore) forget() { s.Restore(s.empty) }
