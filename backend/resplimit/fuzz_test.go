package resplimit

import (
	"fmt"
	"strings"
	"testing"
)

// It does not matter where a reply was cut into packets, and nothing that was let through
// announces more than the limits.
func FuzzReplies(f *testing.F) {
	for _, s := range []string{
		"+OK\r\n", "$3\r\nabc\r\n", "*2\r\n:1\r\n$-1\r\n", "%1\r\n+a\r\n|1\r\n+b\r\n+c\r\n:1\r\n", "*2147483647\r\n", "$99999999999\r\n", "*1\r\n*1\r\n*0\r\n",
		"HTTP/1.1 400\r\n", ">3\r\n+message\r\n+a\r\n+b\r\n", strings.Repeat("*1\r\n", maxDepth+1), "$-5\r\n*-7\r\n",
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		at = min(max(at, 0), len(b))
		var whole, parts limited
		err := whole.look(b)
		errParts := parts.look(b[:at])
		if errParts == nil {
			errParts = parts.look(b[at:])
		}
		if fmt.Sprint(err) != fmt.Sprint(errParts) {
			t.Errorf("%q: %v; cut at %d: %v", b, err, at, errParts)
		}
		if whole.elements > maxElements || whole.bytes > maxBytes+maxLine || len(whole.left) > maxDepth || whole.skip < 0 {
			t.Errorf("%q: %d elements, %d bytes, %d levels, %d to come", b, whole.elements, whole.bytes, len(whole.left), whole.skip)
		}
	})
}
