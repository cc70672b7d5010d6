package stores

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/zookeeper"
	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/rig"
)

// zkProgram is that of Debian's libzookeeper-java, and names what else it needs.
const zkProgram = "/usr/share/java/zookeeper.jar"

// serveZooKeeper starts a ZooKeeper of one member, whose writes reach the disk.
func serveZooKeeper(ctx context.Context, r *rig.Rig) (*served, error) {
	addr, err := startZooKeeper(ctx, r)
	if err != nil {
		return nil, err
	}
	client, err := zkClient(ctx, addr)
	if err != nil {
		return nil, err
	}
	url := "zookeeper://" + addr + "/bench"
	return &served{
		url: url, trip: shared(client, zkTrip), write: shared(client, zkWrite),
		table: func(node string) (ledger.Table, error) {
			return zookeeper.OpenTable(zookeeper.Config{URL: url, Node: backend.Node{ID: node}, Lease: callers.TTL})
		},
		others: []other{{name: "zk.Lock, one connection each", open: zkLock(addr)}},
		pair:   bound{0, 6}, pass: bound{0, 10}, close: func() error { client.Close(); return nil },
	}, nil
}

func startZooKeeper(ctx context.Context, r *rig.Rig) (addr string, err error) {
	if _, err := os.Stat(zkProgram); err != nil {
		return "", fmt.Errorf("no ZooKeeper: install it with apt-get install libzookeeper-java default-jre-headless: %w", err)
	}
	if addr, err = rig.FreeAddr(); err != nil {
		return "", err
	}
	_, port, _ := net.SplitHostPort(addr)
	dir := filepath.Join(r.Dir, "zookeeper")
	config := filepath.Join(dir, "zoo.cfg")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, "tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\nmaxClientCnxns=0\nforceSync=yes\n",
		filepath.Join(dir, "data"), port), 0o600); err != nil {
		return "", err
	}
	ready := func(ctx context.Context) error {
		c, err := zkClient(ctx, addr)
		if err == nil {
			c.Close()
		}
		return err
	}
	cmd := exec.Command("java", "-Xmx256m", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true", "-cp", zkProgram,
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", config)
	return addr, r.StartAs(ctx, "store", ready, cmd, nil)
}

// zkClient is connected.
func zkClient(ctx context.Context, addr string) (*zk.Conn, error) {
	c, events, err := zk.Connect([]string{addr}, 30*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return c, nil
			}
		case <-ctx.Done():
			c.Close()
			return nil, fmt.Errorf("ZooKeeper at %s gives no session: %w", addr, ctx.Err())
		}
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func zkTrip(c *zk.Conn, _ int) (callers.Op, error) {
	return func() error {
		_, _, err := c.Exists("/ready")
		return err
	}, nil
}

// zkWrite is a record of the usual size, compared by its version.
func zkWrite(c *zk.Conn, i int) (callers.Op, error) {
	path, value := "/own-"+strings.ReplaceAll(callers.Own(i), "/", "-"), []byte(strings.Repeat("x", 300))
	if _, err := c.Create(path, value, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return nil, err
	}
	stat, err := c.Set(path, value, -1)
	return func() (err error) {
		stat, err = c.Set(path, value, stat.Version)
		return err
	}, err
}

// zkLock is the lock of the library. An owner has a session of its own.
func zkLock(addr string) func(name string) (lock, unlock callers.Op, closes func() error, err error) {
	return func(name string) (lock, unlock callers.Op, closes func() error, err error) {
		c, err := zkClient(context.Background(), addr)
		if err != nil {
			return nil, nil, nil, err
		}
		l := zk.NewLock(c, "/lock/"+strings.ReplaceAll(name, "/", "-"), zk.WorldACL(zk.PermAll))
		return l.Lock, l.Unlock, func() error { c.Close(); return nil }, nil
	}
}
