package redis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// reply of a script: its first element says what the others are.
type reply []any

func asReply(v any) (reply, error) {
	a, ok := v.([]any)
	if !ok || len(a) == 0 {
		return nil, fmt.Errorf("redis: a script answered %v, which it never does", v)
	}
	return a, nil
}

func (a reply) text(i int) string {
	if i >= len(a) {
		return ""
	}
	s, _ := a[i].(string)
	return s
}

// number reads integers and what was printed because it is a fence.
func (a reply) number(i int) int64 {
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

func (a reply) fence(i int) backend.Fence { return backend.Fence(max(a.number(i), 0)) }

func (a reply) millis(i int) time.Duration {
	return time.Duration(max(a.number(i), 0)) * time.Millisecond
}

// refused is the error behind the words for one.
func (a reply) refused() error {
	switch a.text(0) {
	case "stale":
		return backend.ErrStale
	case "nothold":
		return backend.ErrNotHeld
	case "fence":
		return backend.ErrFence
	case "conflict":
		return backend.ErrConflict
	default:
		return nil
	}
}

// answer to a request that may grant.
func (a reply) answer() (backend.Answer, error) {
	switch word := a.text(0); word {
	case "granted":
		return backend.Answer{
			Granted: true, Hold: a.fence(1), Block: a.fence(2), Turns: int(a.number(3)), Others: a.number(4) == 1,
		}, nil
	case "others":
		return backend.Answer{Others: true}, nil
	case "done":
		return backend.Answer{Provisional: a.number(1) > 0, Wait: a.millis(1)}, nil
	case "queued", "held":
		ans := backend.Answer{
			Queued: word == "queued", Wait: a.millis(1), Provisional: a.number(2) == 1, Ahead: int(a.number(9)),
			Holder: backend.Status{
				Held: a.text(4) != "" || a.number(3) == 1, Foreign: a.number(3) == 1, Owner: backend.Owner(a.text(4)),
				Node: a.text(5), Hold: a.fence(6), Turn: a.fence(7), TTL: a.millis(1), Record: a.text(8),
			},
		}
		if word == "held" {
			return ans, backend.ErrHeld
		}
		return ans, nil
	default:
		return backend.Answer{}, fmt.Errorf("redis: a script answered %q, which it never does", word)
	}
}

// parseHint reads a message of a script to a node: "g fence slot name",
// "b fence slot name", "o slot name", "w ms slot name". Anything else is not ours and is ignored.
func parseHint(payload string) (backend.Hint, bool) {
	f := strings.Split(payload, " ")
	if len(f) < 3 || f[0] == "o" && len(f) != 3 || f[0] != "o" && len(f) != 4 {
		return backend.Hint{}, false
	}
	h := backend.Hint{Name: f[len(f)-1]}
	if slot := f[len(f)-2]; slot != "-" {
		h.Slot = slot
	}
	if f[0] == "o" {
		h.Kind = backend.HintOthers
		return h, true
	}
	n, err := strconv.ParseUint(f[1], 10, 53)
	if err != nil {
		return backend.Hint{}, false
	}
	switch f[0] {
	case "g":
		h.Kind, h.Fence = backend.HintGranted, backend.Fence(n)
	case "b":
		h.Kind, h.Fence = backend.HintBroken, backend.Fence(n)
	case "w":
		h.Kind, h.After = backend.HintWatch, time.Duration(min(n, 60_000))*time.Millisecond
	default:
		return backend.Hint{}, false
	}
	return h, true
}
