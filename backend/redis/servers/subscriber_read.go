package servers

import (
	"context"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// read takes what arrives until the connection ends. It has no deadline of its own:
// probe sees silence, and a deadline that strikes within a message loses the rest.
func (h *subscriber) read(ctx context.Context, ps *goredis.PubSub, echoes chan string) error {
	for {
		received, err := ps.Receive(ctx)
		if err != nil {
			return err
		}
		switch m := received.(type) {
		case *goredis.Subscription: // or its end, which at most calls a watcher for nothing
			h.deliver(m.Channel, ProbePrefix, echoes)
			if m.Kind == "sunsubscribe" && h.watcher(m.Channel) != nil {
				h.moved(m.Channel)
			}
		case *goredis.Message:
			h.deliver(m.Channel, m.Payload, echoes)
		}
	}
}

// deliver hands on a message. Anybody can forge one: a wrong echo is not what await
// waits for, and any other message only ever causes a request.
func (h *subscriber) deliver(channel, payload string, echoes chan string) {
	if channel != h.channel {
		if f := h.watcher(channel); f != nil {
			f()
		}
		return
	}
	echo, ok := strings.CutPrefix(payload, ProbePrefix)
	if !ok {
		h.onMessage(payload)
		return
	}
	if echo != "" && !strings.HasPrefix(echo, h.id) {
		return // of another subscriber, and ours may wait to be read
	}
	select {
	case <-echoes: // an older one
	default:
	}
	echoes <- echo
}
