package redis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// refused is the error behind the words for one.
func refused(a conn.Reply) error {
	switch a.Text(0) {
	case "stale":
		return backend.ErrStale
	case "nothold":
		return backend.ErrNotHeld
	case "fence":
		return backend.ErrFence
	case "conflict":
		return backend.ErrConflict
	case "spent":
		return backend.Spent("the key "+a.Text(1), a.Text(2))
	default:
		return nil
	}
}

// answer to a request that may grant.
func answer(a conn.Reply) (backend.Answer, error) {
	switch word := a.Text(0); word {
	case "granted":
		return backend.Answer{
			Granted: true, Hold: a.Fence(1), Block: a.Fence(2), Turns: int(a.Number(3)), Others: a.Number(4) == 1,
		}, nil
	case "others":
		return backend.Answer{Others: true}, nil
	case "done":
		return backend.Answer{Provisional: a.Number(1) > 0, Wait: a.Millis(1)}, nil
	case "queued", "held":
		ans := backend.Answer{
			Queued: word == "queued", Wait: a.Millis(1), Provisional: a.Number(2) == 1, Ahead: int(a.Number(9)),
			Holder: backend.Status{
				Held: a.Text(4) != "" || a.Number(3) == 1, Foreign: a.Number(3) == 1, Owner: backend.Owner(a.Text(4)),
				Node: a.Text(5), Hold: a.Fence(6), Turn: a.Fence(7), TTL: a.Millis(1), Record: a.Text(8),
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
