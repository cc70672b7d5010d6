package accept

import (
	"strings"
	"testing"
)

// A request with two lengths is found, whatever came before it and however it is cut.
func TestFrames(t *testing.T) {
	const (
		plain = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
		body  = "PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\ncontent-length: 29\r\n\r\nTransfer-Encoding: x\n\nGET / H"
		both  = "PUT /v1/locks/a HTTP/1.1\nContent-Length : 4\nHost: localhost\nCONTENT-LENGTH:4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
	)
	for _, tt := range []struct {
		what, sent string
		want       int64 // which request it is; 0: none
	}{
		{"none", plain + plain, 0},
		{"a body that looks like headers", body + plain, 0},
		{"chunked alone", plain + "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0},
		{"both", both, 1},
		{"both, later", plain + "\r\n" + body + plain + both, 4},
		{"both, in the other order", "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nx: " + strings.Repeat("x", 2*maxLine) + "\r\nContent-Length: 0\r\n\r\n", 1},
		{"behind spaces", "PUT / HTTP/1.1\r\nContent-Length:" + strings.Repeat(" ", maxLine) + "5\r\n\r\nhello", 1},
		{"with zeros", "PUT / HTTP/1.1\r\nContent-Length: " + strings.Repeat("0", maxLine) + "5\r\nTransfer-Encoding: chunked\r\n\r\n", 1},
		{"on the next line", plain + "PUT / HTTP/1.1\r\nContent-Length:\r\n 5\r\nTransfer-Encoding: chunked\r\n\r\n", 2},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			var f frames
			for b := []byte(tt.sent); len(b) > 0; {
				n := min(size, len(b))
				f.read(b[:n])
				b = b[n:]
			}
			if got := f.ambiguous.Load(); got != tt.want {
				t.Errorf("%s, in parts of %d: request %d, want %d", tt.what, size, got, tt.want)
			}
		}
	}
}
