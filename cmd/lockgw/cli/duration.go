package cli

import (
	"strconv"
	"strings"
	"time"
)

// Duration writes d without the zero parts that time.Duration adds: 5m, not 5m0s; and
// 7d, not 168h.
func Duration(d time.Duration) string {
	if day := 24 * time.Hour; d >= 2*day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Age writes how long ago something was, in whole seconds: 3m12s.
func Age(d time.Duration) string { return Duration(max(0, d).Truncate(time.Second)) }
