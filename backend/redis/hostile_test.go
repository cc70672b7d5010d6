package redis_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session"
)

// A few bytes can announce a reply for which there is not enough memory: a larger one than
// this ended the process. They may come in place of a server or in place of a Sentinel.
func TestHugeReplyIsRefused(t *testing.T) {
	t.Parallel()
	addr := redistest.Answers(t, "*16000000\r\n")
	for _, url := range []string{"redis://" + addr, "redis+sentinel://" + addr + "/locks", "redis+cluster://" + addr} {
		b, err := redis.OpenTable(redis.Config{URL: url, Node: backend.Node{ID: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		b.Listen(func(ledger.Addressed) {})
		_, err = b.Look(t.Context(), "x")
		if err == nil || strings.HasPrefix(url, "redis://") && !strings.Contains(err.Error(), "is this a Redis server?") {
			t.Errorf("%s: look = %v, want an error about the reply", url, err)
		}
		if err := b.Ping(t.Context()); err == nil {
			t.Errorf("%s: ping: no error", url)
		}
	}
}

// Who may publish, and read what gateways tell each other, cannot have one of them write over
// a record that is not there: what a forged message says of a version is another record.
func TestForgedRecordGrantsNothing(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	ms := gateways(t, s, 2, session.Config{})
	held, err := client(t, ms[0]).Acquire(t.Context(), "x", session.Acquire{})
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan error, 1)
	go func() {
		_, err := client(t, ms[1]).Acquire(t.Context(), "x", session.Acquire{Wait: 3 * time.Second})
		waits <- err
	}()
	rdb := s.Client()
	record := func() string { return rdb.Get(t.Context(), "lockgw:{x}").Val() }
	within(t, "it waits", func() bool { return strings.Contains(record(), `"n1"`) })
	forged := regexp.MustCompile(`,"holds":.*`)
	for range 20 {
		head, body, _ := strings.Cut(record(), "\n")
		end := strings.LastIndex(body, "\n")
		joined := ""
		if end > 0 {
			body, joined = body[:end], body[end:]
		}
		now, err := rdb.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("1 1 x %d %d %s\n%s%s", now.Unix()+1, now.Nanosecond()/1000, head, forged.ReplaceAllString(body, "}"), joined)
		rdb.Publish(t.Context(), "lockgw:node:n1", text)
		time.Sleep(20 * time.Millisecond)
	}
	select {
	case err := <-waits:
		t.Errorf("it has stopped waiting: %v", err)
		waits <- err
	default:
	}
	if err := held.Lease.Err(); err != nil {
		t.Errorf("the holder has lost its lock: %v", err)
	}
	if !strings.Contains(record(), `"node":"n0"`) {
		t.Errorf("the record is %s", record())
	}
	<-waits
}

// The record that comes with a message is believed if it is that of its version, whoever has
// written it: one that joins, too.
func TestMessageBringsItsRecord(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := openNode(t, s.URL(), "a", redis.GuardQuarantine), openNode(t, s.URL(), "b", redis.GuardQuarantine)
	brings := func(n *node, by string) {
		t.Helper()
		select {
		case m := <-n.told:
			if m.Reply == nil || m.Reply.Version != n.look("x").Version {
				t.Errorf("%s brings %+v", by, m)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s has told nothing", by)
		}
	}
	a.takes("x")
	for len(a.told)+len(b.told) > 0 { // what came before
		select {
		case <-a.told:
		case <-b.told:
		}
	}
	if _, err := b.Join(t.Context(), "x", ledger.Entry{Node: "b", Want: 1}, 0); err != nil {
		t.Fatal(err)
	}
	brings(a, "a join")
	a.leaves("x")
	brings(b, "a swap")
}
