package etcd

import (
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
