package zookeeper

import (
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// packet has a length, and then body in numbers of four bytes.
func packet(body ...uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4*len(body)))
	for _, n := range body {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

// asks is a request for what, as long as the shortest.
func asks(what uint32) []byte { return packet(7, what) }

// taken is a connection that takes up a session: its first answer has been read.
func taken(t *testing.T, timeout *atomic.Int32, login bool) *ordered {
	t.Helper()
	c, server := net.Pipe()
	o := inOrder(c, timeout, login)
	t.Cleanup(func() { o.Close(); server.Close() })
	go func() {
		_, _ = io.ReadFull(server, make([]byte, len(asks(0))))
		answer := packet(0, 6000, 1, 2)
		for i := range answer { // in pieces
			_, _ = server.Write(answer[i : i+1])
		}
		go func() { _, _ = io.Copy(io.Discard, server) }()
		for n := range uint32(3) {
			_, _ = server.Write(packet(n))
		}
		_, _ = server.Write(packet())
		_, _ = server.Write(packet(3))
	}()
	send(t, o, asks(askWatches)) // the first request is not looked at
	next(t, o)
	if timeout.Load() != 6000 {
		t.Errorf("the timeout is %d ms", timeout.Load())
	}
	return o
}

func send(t *testing.T, o *ordered, b []byte) {
	t.Helper()
	if _, err := o.Write(b); err != nil {
		t.Fatal(err)
	}
}

// next reads a packet as the library does.
func next(t *testing.T, o *ordered) []byte {
	t.Helper()
	size := make([]byte, sizeBytes)
	if _, err := io.ReadFull(o, size); err != nil {
		t.Error(err)
		return nil
	}
	b := make([]byte, binary.BigEndian.Uint32(size))
	if _, err := io.ReadFull(o, b); err != nil {
		t.Error(err)
	}
	return b
}

func TestAnswersWaitForTheWatches(t *testing.T) {
	for _, c := range []struct {
		name string
		// does something once answers are to come; how many come of it, and then no more
		does  func(*testing.T, *ordered)
		first bool
		login bool
		comes int64
	}{
		{name: "first connection", first: true, does: func(*testing.T, *ordered) {}, comes: 5},
		{name: "nothing asked", does: func(*testing.T, *ordered) {}, comes: 0},
		{name: "ping", does: func(t *testing.T, o *ordered) { send(t, o, asks(11)) }, comes: 0},
		{name: "login", login: true, does: func(*testing.T, *ordered) {}, comes: 1},
		{name: "login and watches", login: true, does: func(t *testing.T, o *ordered) { send(t, o, asks(askWatches)) }, comes: 5},
		{name: "watches", does: func(t *testing.T, o *ordered) { send(t, o, asks(askWatches)) }, comes: 5},
		{name: "no watches", does: func(*testing.T, *ordered) { time.Sleep(watchesTime) }, comes: 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				timeout := new(atomic.Int32)
				if !c.first {
					timeout.Store(4000)
				}
				o := taken(t, timeout, c.login)
				var come atomic.Int64
				done := make(chan struct{})
				go func() {
					defer close(done)
					for range 5 {
						next(t, o)
						come.Add(1)
					}
				}()
				synctest.Wait()
				if n := come.Load(); !c.first && !c.login && n > 0 {
					t.Fatalf("%d answers come before anything was asked", n)
				}
				c.does(t, o)
				synctest.Wait()
				if n := come.Load(); n != c.comes {
					t.Errorf("%d answers come, not %d", n, c.comes)
				}
				<-done
			})
		})
	}
}

// Who ends the connection ends the wait.
func TestNoWaitOnceClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timeout := new(atomic.Int32)
		timeout.Store(4000)
		o := taken(t, timeout, false)
		begin := time.Now()
		go o.Close()
		if _, err := o.Read(make([]byte, sizeBytes)); err == nil {
			t.Error("a connection that was closed is read")
		}
		if d := time.Since(begin); d > 0 {
			t.Errorf("it took %v to find it closed", d)
		}
	})
}

// A server that takes a connection and says nothing is left soon, whatever the library allows it.
func TestFirstAnswerHasATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, server := net.Pipe()
		defer server.Close()
		o := inOrder(c, new(atomic.Int32), false)
		defer o.Close()
		begin := time.Now()
		for _, deadline := range []time.Time{time.Now().Add(time.Hour), {}} {
			if err := o.SetReadDeadline(deadline); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := o.Read(make([]byte, sizeBytes)); err == nil || time.Since(begin) != dialTime {
			t.Errorf("it waits for %v: %v", time.Since(begin), err)
		}
	})
}
