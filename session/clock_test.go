package session_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// The clock is the machine's uptime, whatever somebody sets the time of day to.
func TestBoottime(t *testing.T) {
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	uptime := time.Duration(seconds * float64(time.Second))
	if d := session.Boottime() - uptime; d.Abs() > time.Second {
		t.Errorf("Boottime is %v from the uptime", d)
	}
}
