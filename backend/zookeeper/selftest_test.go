package zookeeper

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

// Numbers of the protocol.
const (
	opDelete  = 2
	opSetData = 5
	opCheck   = 13
	opMulti   = 14
)

// heedless passes connections on to a ZooKeeper, and has all writes be of whatever version is
// there.
func heedless(t *testing.T, to string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
			go func() { passOn(server, client); _ = server.Close() }()
		}
	}()
	return l.Addr().String()
}

func passOn(server io.Writer, client io.Reader) {
	for first := true; ; first = false {
		size := make([]byte, 4)
		if _, err := io.ReadFull(client, size); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(size))
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		if !first && len(body) > 8 && binary.BigEndian.Uint32(body[4:]) == opMulti {
			anyVersion(body[8:])
		}
		if _, err := server.Write(append(size, body...)); err != nil {
			return
		}
	}
}

// anyVersion has the first requests of a multi be of any version, up to one that has none.
func anyVersion(b []byte) {
	skip := func() { b = b[4+max(int32(binary.BigEndian.Uint32(b)), 0):] }
	for len(b) > 9 {
		op := binary.BigEndian.Uint32(b)
		b = b[9:] // with whether it is the last, and an error
		switch op {
		case opSetData:
			skip()
			skip()
		case opCheck, opDelete:
			skip()
		default:
			return
		}
		copy(b, "\xff\xff\xff\xff")
		b = b[4:]
	}
}

// A store that does not compare versions is found out before the first lock is granted.
func TestSelfTest(t *testing.T) {
	t.Parallel()
	s, at := zktest.Shared(t), chroot("selftest")
	a := listen(t, zktest.URL(at, s), "a")
	a.Take("n")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	again := listen(t, strings.Replace(zktest.URL(at, s), s.Addr, heedless(t, s.Addr), 1), "a")
	for range 3 {
		if r, err := again.Try("m", ledger.Op{Want: 1}); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "compare-and-set does not work") {
			t.Errorf("a store that compares nothing: %+v, %v", r, err)
		}
	}
	if err := again.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "compare-and-set does not work") {
		t.Errorf("ping = %v", err)
	}
}
