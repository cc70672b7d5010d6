package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/bench/limits"
	"github.com/lockgw/lockgw/bench/rig"
)

// play is what this program does when it was started by itself, until SIGTERM.
func play(args []string) error {
	role, args := args[0], args[1:]
	switch {
	case role == "echo" && len(args) == 1:
		return rig.Serve("unix", args[0], rig.Echo)
	case role == "web" && len(args) == 1:
		return serveTrivial(args[0])
	case role == "delay" && len(args) == 3:
		d, err := time.ParseDuration(args[2])
		if err != nil {
			return err
		}
		return rig.Serve("tcp", args[0], func(c net.Conn) { rig.Forward(c, args[1], d) })
	case role == "attack" && len(args) == 3:
		return limits.Attack(args[0], args[1], args[2])
	case role == "gateway" && len(args) == 3:
		return serveProfiled(args[0], args[1], args[2])
	}
	return fmt.Errorf("unknown command %q; this program takes flags only, see -help", role)
}

// serveTrivial answers each request with a few bytes of JSON, by gin as the gateway's API is.
func serveTrivial(path string) error {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.NoRoute(func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"name": "trivial", "state": "held"}) })
	ln, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(ln) }() // until it is closed
	rig.AwaitSignal()
	return s.Close()
}
