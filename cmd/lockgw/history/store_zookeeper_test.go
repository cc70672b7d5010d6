package history_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

type zkStore struct {
	keeperStore
	client *zk.Conn
}

func startZooKeeper(t testing.TB) store {
	s := zktest.Start(t)
	return &zkStore{keeper(&s.Keeper, s.Addr), zktest.Client(t, s)}
}

func (s *zkStore) config(addr string, _ scenario) string {
	return fmt.Sprintf(`{url: "zookeeper://%s?session=4s&tick=200ms"}`, addr)
}

// each has f look at the children of path, which may be deleted meanwhile.
func (s *zkStore) each(path string, f func(child string) error) error {
	children, _, err := s.client.Children(path)
	for _, c := range children {
		if err := f(path + "/" + c); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	return err
}

func (s *zkStore) left(context.Context) (left []string) {
	err := s.each("/lockgw/l", func(bucket string) error {
		return s.each(bucket, func(path string) error {
			value, _, err := s.client.Get(path)
			if _, record, _ := strings.Cut(string(value), "\n"); err == nil && !nobody(record) {
				left = append(left, path+" "+string(value))
			}
			return err
		})
	})
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		left = append(left, err.Error())
	}
	return left
}

// upset has all messages overwritten that were not read yet.
func (s *zkStore) upset() {
	s.tell(func(path string) error {
		_, err := s.client.Set(path, []byte("{}"), -1)
		return err
	})
}

// cut deletes the znodes of all messages.
func (s *zkStore) cut() { s.tell(func(path string) error { return s.client.Delete(path, -1) }) }

// tell has f do something to the znodes of messages. The client may begin a session just then.
func (s *zkStore) tell(f func(path string) error) {
	err := s.each("/lockgw/m", f)
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		err = s.each("/lockgw/m", f)
	}
	if err != nil {
		s.T.Errorf("nemesis: ZooKeeper: %v", err)
	}
}
