package rig

import (
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Serve has f serve each connection. The end of the process ends them.
func Serve(network, addr string, f func(net.Conn)) error {
	ln, err := net.Listen(network, addr)
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go f(c)
		}
	}()
	AwaitSignal()
	return ln.Close()
}

// AwaitSignal waits for SIGTERM.
func AwaitSignal() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	<-c
}

// Echo answers with what it got.
func Echo(c net.Conn) {
	defer c.Close()
	buf := make([]byte, 4<<10)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

// Forward passes bytes between c and addr, each half of d later than they came.
// Unlike a sleep between reading and writing, it delays many messages at once.
func Forward(c net.Conn, addr string, d time.Duration) {
	s, err := net.Dial("tcp", addr)
	if err != nil {
		c.Close()
		return
	}
	go pump(s, c, d/2)
	pump(c, s, d/2)
}

type packet struct {
	due  time.Time
	data []byte
}

func pump(dst, src net.Conn, d time.Duration) {
	packets := make(chan packet, 1<<10)
	go func() {
		defer close(packets)
		for {
			buf := make([]byte, 16<<10)
			n, err := src.Read(buf)
			if err != nil {
				return
			}
			packets <- packet{time.Now().Add(d), buf[:n]}
		}
	}()
	for p := range packets {
		Until(p.due)
		_, _ = dst.Write(p.data) // when it fails, so will reading
	}
	dst.Close()
}

// Until waits in the kernel: the timers of the runtime are up to a millisecond
// late while nothing else happens.
func Until(due time.Time) {
	for d := time.Until(due); d > 0; d = time.Until(due) {
		t := syscall.NsecToTimespec(d.Nanoseconds())
		_ = syscall.Nanosleep(&t, nil) // interrupted: once more
	}
}
