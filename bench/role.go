package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// play is what this program does when it was started by itself, until SIGTERM.
func play(args []string) error {
	role, args := args[0], args[1:]
	switch {
	case role == "echo" && len(args) == 1:
		return serve("unix", args[0], echo)
	case role == "delay" && len(args) == 3:
		d, err := time.ParseDuration(args[2])
		if err != nil {
			return err
		}
		return serve("tcp", args[0], func(c net.Conn) { forward(c, args[1], d) })
	case role == "attack" && len(args) == 3:
		return attack(args[0], victim{args[1], args[2]})
	case role == "gateway" && len(args) == 3:
		return serveProfiled(args[0], args[1], args[2])
	}
	return fmt.Errorf("unknown command %q; this program takes flags only, see -help", role)
}

// serve has f serve each connection. The end of the process ends them.
func serve(network, addr string, f func(net.Conn)) error {
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
	awaitSignal()
	return ln.Close()
}

func awaitSignal() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	<-c
}

// echo answers with what it got.
func echo(c net.Conn) {
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

// forward passes bytes between c and addr, each half of d later than they came.
// Unlike a sleep between reading and writing, it delays many messages at once.
func forward(c net.Conn, addr string, d time.Duration) {
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
		until(p.due)
		_, _ = dst.Write(p.data) // when it fails, so will reading
	}
	dst.Close()
}

// until waits in the kernel: the timers of the runtime are up to a millisecond
// late while nothing else happens.
func until(due time.Time) {
	for d := time.Until(due); d > 0; d = time.Until(due) {
		t := syscall.NsecToTimespec(d.Nanoseconds())
		_ = syscall.Nanosleep(&t, nil) // interrupted: once more
	}
}
