package etcd

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/tabletest"
)

func TestTable(t *testing.T) {
	s := etcdtest.Start(t)
	tabletest.Run(t, func(t *testing.T, node string) ledger.Table { return open(t, etcdtest.URL(s), node) })
}

// A write whose answer is lost with the connection may have been carried out.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	tabletest.LostAnswers(t, s.Addr, func(t *testing.T, addr, node string) ledger.Table { return open(t, "etcd://"+addr, node) })
}

func TestClassOf(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		time.Second: 2 * time.Second, 1500 * time.Millisecond: 3 * time.Second, 10 * time.Second: 11 * time.Second, 30 * time.Second: 33 * time.Second,
		time.Minute: 66 * time.Second, 95 * time.Second: 110 * time.Second, time.Hour: 4000 * time.Second, 24 * time.Hour: 96_000 * time.Second,
	} {
		if got := classOf(ttl); got != want {
			t.Errorf("a hold of %v is under a lease of %v, want %v", ttl, got, want)
		}
	}
}

// open makes the Table of a node. The caller closes it.
func open(t testing.TB, url, node string) *Table {
	t.Helper()
	table, err := OpenTable(Config{URL: url, Node: backend.Node{ID: node}})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// Who needs a lease while etcd is silent to another one waits no longer than its own time, be it
// the same lease or another.
func TestLeaseHasAnEnd(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	a := open(t, etcdtest.URL(s), "a")
	defer a.Close()
	c, err := a.link.client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const first, second = 10 * time.Second, time.Minute
	for _, ttl := range []time.Duration{first, second} {
		if _, err := a.leases.take(t.Context(), c, ttl); err != nil {
			t.Fatal(err)
		}
		a.leases.of[classOf(ttl)].until = 0 // it has to be prolonged
	}
	s.Pause()
	defer s.Resume()
	waiting, stop := context.WithCancel(t.Context())
	given, done := make(chan error, 1), make(chan struct{})
	go func() {
		_, err := a.leases.take(waiting, c, first)
		given <- err
	}()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	go func() {
		defer close(done)
		for range 50 {
			for _, ttl := range []time.Duration{first, second} {
				if _, err := a.leases.take(over, c, ttl); !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrRefused) {
					t.Errorf("a lease that nobody has prolonged: %v", err)
				}
			}
			time.Sleep(time.Millisecond)
		}
	}()
	select {
	case <-done:
		stop()
		<-given
	case err := <-given:
		t.Errorf("it waits for the other one: %v", err)
		stop()
		<-done
	}
}
