package zookeeper

import (
	"strings"
	"testing"
	"time"
)

// Doctor says when a session lasts for another time than the gateway has asked for, and which
// setting of the servers does that.
func TestExamineSession(t *testing.T) {
	t.Parallel()
	s := &session{t: &Table{addr: address{tick: 3 * time.Second}}, c: &conn{}}
	s.t.Lease = 5 * time.Second
	for given, remedy := range map[time.Duration]string{4 * time.Second: "maxSessionTimeout", 11 * time.Second: "", 100 * time.Second: "minSessionTimeout"} {
		s.c.given.Store(int32(given.Milliseconds()))
		s.touched.Store(int64(now()))
		if f := examineSession(s, s.t.Lease); f.Warned != (remedy != "") || !strings.Contains(f.Remedy, remedy) || !strings.Contains(f.Detail, given.String()) {
			t.Errorf("of %v doctor says %+v", given, f)
		}
	}
}
