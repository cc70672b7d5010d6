package conn

import (
	"fmt"
	"strconv"

	"github.com/lockgw/lockgw/backend"
)

// Reply of a script: its first element says what the others are.
type Reply []any

// AsReply reads the answer of a script, which is a list.
func AsReply(v any) (Reply, error) {
	a, ok := v.([]any)
	if !ok || len(a) == 0 {
		return nil, fmt.Errorf("redis: a script answered %v, which it never does", v)
	}
	return a, nil
}

// Text is element i, "" if that is none.
func (a Reply) Text(i int) string {
	if i >= len(a) {
		return ""
	}
	s, _ := a[i].(string)
	return s
}

// Number reads integers and what was printed because it is a fence.
func (a Reply) Number(i int) int64 {
	if i >= len(a) {
		return 0
	}
	switch n := a[i].(type) {
	case int64:
		return n
	case string:
		v, _ := strconv.ParseInt(n, 10, 64)
		return v
	default:
		return 0
	}
}

// Fence is element i.
func (a Reply) Fence(i int) backend.Fence { return backend.Fence(max(a.Number(i), 0)) }
