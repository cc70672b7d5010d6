package socket

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

const (
	channelPrefix = "lock:"
	// maxChannels is how many channels one connection may have: every event of the node
	// is compared with each of them.
	maxChannels = 256
)

func channelCommands() []command {
	return []command{
		{name: "SUBSCRIBE", least: 1, most: anyNumber, run: subscribe, args: "lock:name ...", summary: "Tells what happens to locks."},
		{name: "PSUBSCRIBE", least: 1, most: anyNumber, run: subscribe, args: "lock:prefix* ...", summary: "Tells what happens to locks."},
		{name: "UNSUBSCRIBE", most: anyNumber, run: unsubscribe, args: "[lock:name ...]", summary: "Ends subscriptions."},
		{name: "PUNSUBSCRIBE", most: anyNumber, run: unsubscribe, args: "[lock:prefix* ...]", summary: "Ends subscriptions."},
	}
}

func whileSubscribed(command string) bool {
	return strings.HasSuffix(command, "SUBSCRIBE") || slices.Contains([]string{"PING", "QUIT", "RESET"}, command)
}

func checkChannel(channel string, pattern bool) error {
	name, ok := strings.CutPrefix(channel, channelPrefix)
	if !ok {
		return session.Invalid("channel", "%s does not begin with %s", session.Quote(channel), channelPrefix)
	}
	if !pattern {
		return session.CheckName(name)
	}
	prefix, ok := strings.CutSuffix(name, "*")
	if !ok || strings.ContainsAny(prefix, `*?[]\`) {
		return session.Invalid("pattern", "%s is not %s, the beginning of a name, and *", session.Quote(channel), channelPrefix)
	}
	return session.CheckPrefix(prefix)
}

func subscribe(c *conn, args []string) error {
	pattern := isPattern(args[0])
	for _, channel := range args[1:] {
		if err := checkChannel(channel, pattern); err != nil {
			return err
		}
		if name := strings.TrimPrefix(channel, channelPrefix); !pattern {
			if err := c.srv.cfg.Access.May(c.by, access.Inspect, name); err != nil {
				return err
			}
		}
	}
	if err := c.allow(access.Inspect); err != nil {
		return err
	}
	before, more := c.subs.count(), len(args)-1
	if before+more > maxChannels {
		return replyError{"BUSY", fmt.Sprintf("a connection may have %d subscriptions at most", maxChannels)}
	}
	if err := c.srv.listens(c.peer.UID, more); err != nil {
		return err
	}
	if c.subs == nil {
		c.listen()
	}
	for _, channel := range args[1:] {
		c.subs.set(channel, pattern, true, func(n int) { c.confirm(args[0], channel, n) })
	}
	_ = c.srv.listens(c.peer.UID, c.subs.count()-before-more) // it had some of them
	return nil
}

func unsubscribe(c *conn, args []string) error {
	pattern, channels, before := isPattern(args[0]), args[1:], c.subs.count()
	if len(channels) == 0 {
		channels = c.subs.list(pattern)
	}
	for _, channel := range channels {
		c.subs.set(channel, pattern, false, func(n int) { c.confirm(args[0], channel, n) })
	}
	_ = c.srv.listens(c.peer.UID, c.subs.count()-before)
	if len(channels) == 0 {
		c.w.Push(3)
		c.w.Bulk(strings.ToLower(args[0]))
		c.w.Null()
		c.w.Int(int64(c.subs.count()))
	}
	if c.subs.count() == 0 {
		c.unsubscribeAll()
	}
	return nil
}

func isPattern(command string) bool { return command[0] == 'P' || command[0] == 'p' }

// confirm adds the answer for one channel at once: messages may follow from now on.
func (c *conn) confirm(command, channel string, n int) {
	c.w.Push(3)
	c.w.Bulk(strings.ToLower(command))
	c.w.Bulk(channel)
	c.w.Int(int64(n))
	c.out.add(c.w.Bytes())
	c.w.Reset()
}
