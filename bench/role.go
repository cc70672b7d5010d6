package main

import (
	"fmt"
	"net"
	"time"

	"github.com/lockgw/lockgw/bench/limits"
	"github.com/lockgw/lockgw/bench/rig"
)

// play is what this program does when it was started by itself, until SIGTERM.
func play(args []string) error {
	role, args := args[0], args[1:]
	switch {
	case role == "echo" && len(args) == 1:
		return rig.Serve("unix", args[0], rig.Echo)
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
