package zookeeper

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

// Most tests here wait for a server to let time pass, more than one to a processor.
func TestMain(m *testing.M) {
	servertest.Parallel(4)
	code := m.Run()
	zktest.End()
	os.Exit(code)
}

// chroot is a chroot that no other test has, nor this one when it runs again.
func chroot(test string) string { return test + "-" + rand.Text()[:8] }

// brief is url with sessions that are to end in a test.
func brief(url string) string { return strings.Replace(url, zktest.Settings, zktest.Brief, 1) }

// open makes the Table of a node. The caller closes it.
func open(t testing.TB, url, node string) *Table {
	t.Helper()
	table, err := OpenTable(Config{URL: url, Node: backend.Node{ID: node}})
	if err != nil {
		t.Fatal(err)
	}
	return table
}
