package conn

import (
	"errors"
	"net"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
)

// What a server says before it closes a connection is told, and not the broken pipe after it.
func TestTurnedAway(t *testing.T) {
	for farewell, want := range map[string]string{
		"-DENIED Redis is running in protected mode because protected mode is enabled.\r\n": "Redis is in protected mode",
		"-ERR max number of clients reached\r\n":                                            "raise maxclients",
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte(farewell))
				_ = c.Close()
			}
		}()
		client := New(&goredis.Options{Addr: ln.Addr().String(), MaxRetries: -1, Dialer: Dialer(IOTimeout, nil)})
		defer client.Close()
		err = Outcome(client.Ping(t.Context()).Err())
		if !errors.Is(err, ErrTurnedAway) || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want %v with %q", err, ErrTurnedAway, want)
		}
	}
}
