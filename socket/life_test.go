package socket

import "testing"

// What a client lives by, and what ends that: each row is a real process.
func TestProofOfLife(t *testing.T) {
	for name, tt := range map[string]struct {
		way   way
		end   func(*process) // of the client, that holds the lock or waits for it
		heir  bool           // a child of the client has its connection too, and lives on
		waits bool           // the client waits; it has to be forgotten, not granted
		keeps bool           // the hold goes on
	}{
		"connection, killed":              {way: byConnection, end: (*process).kill},
		"connection, exits":               {way: byConnection, end: (*process).exit},
		"connection, killed, waits":       {way: byConnection, end: (*process).kill, waits: true},
		"connection, killed, child":       {way: byConnection, end: (*process).kill, heir: true, keeps: true},
		"stream, killed":                  {way: byStream, end: (*process).kill},
		"stream, exits":                   {way: byStream, end: (*process).exit},
		"stream, killed, waits":           {way: byStream, end: (*process).kill, waits: true},
		"stream, killed, child":           {way: byStream, end: (*process).kill, heir: true, keeps: true},
		"process, lives, no connection":   {way: byProcess, end: (*process).live, keeps: true},
		"process, killed":                 {way: byProcess, end: (*process).kill},
		"process, exits":                  {way: byProcess, end: (*process).exit},
		"process, killed, waits":          {way: byProcess, end: (*process).kill, waits: true},
		"process, killed, child":          {way: byProcess, end: (*process).kill, heir: true},
		"process, killed, waits, child":   {way: byProcess, end: (*process).kill, heir: true, waits: true},
		"keepalive, lives, says nothing":  {way: byKeepalive, end: (*process).live},
		"keepalive, killed, waits":        {way: byKeepalive, end: (*process).kill, waits: true},
		"max_hold, lives, has connection": {way: byMaxHold, end: (*process).live},
		"max_hold, killed, waits":         {way: byMaxHold, end: (*process).kill, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some wait
			g := start(t)
			other := g.dial()
			if tt.waits {
				other.lock("a")
			}
			client := g.run(t, tt.way, tt.heir)
			if tt.waits {
				g.waiters(1)
				tt.end(client)
				g.waiters(0)
				other.want(int64(0), "UNLOCK", "a")
			} else {
				client.hears("held")
				tt.end(client)
			}
			if tt.keeps {
				other.want(nil, "LOCK", "a", "WAIT", "0.2")
				client.endAll()
			}
			other.lock("a", "WAIT", "60")
		})
	}
}
