package socket

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/socket/resp"
)

// Libraries send a transaction in one go. Its MULTI is refused, so nothing of it may be carried
// out: the client would not know that it holds the lock.
func TestTransaction(t *testing.T) {
	const (
		unknown = "ERR unknown command"
		refused = "is not carried out: it follows a MULTI"
	)
	for _, tt := range []struct {
		send []string
		want []any // what an error contains, or the answer
	}{
		{[]string{"MULTI", "LOCK a", "lock b WAIT 1", "PING", "EXEC"}, []any{unknown, refused, refused, refused, "EXECABORT"}},
		{[]string{"multi", "LOCK a", "SUBSCRIBE lock:a", "exec"}, []any{unknown, refused, refused, "EXECABORT"}},
		{[]string{"MULTI", "LOCK a", "DISCARD"}, []any{unknown, refused, "OK"}},
		{[]string{"MULTI", "MULTI", "LOCK a", "RESET"}, []any{unknown, unknown, refused, "RESET"}},
		{[]string{"EXEC", "DISCARD", "WATCH a"}, []any{unknown, unknown, unknown}},
	} {
		g := start(t)
		w := g.dial()
		var all strings.Builder
		for _, line := range tt.send {
			all.WriteString(encode(strings.Fields(line)...))
		}
		w.write(all.String())
		for i, want := range tt.want {
			got := w.read()
			if err, ok := got.(resp.Error); ok && strings.Contains(string(err), want.(string)) {
				continue
			}
			if got != want {
				t.Errorf("%q: %s is answered %v, want %v", tt.send, tt.send[i], got, want)
			}
		}
		if n := g.m.Stats().Holds; n != 0 {
			t.Errorf("%q: %d locks are held", tt.send, n)
		}
		w.lock("a")
		w.want(int64(0), "UNLOCK", "a")
	}
}
