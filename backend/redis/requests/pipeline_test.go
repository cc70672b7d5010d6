package requests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

var (
	// appendA and appendB do the same under different names: they write ARGV[1] to
	// the end of a list and return its length.
	appendA = NewScript("allow-oom", "-- A", "return redis.call('rpush', KEYS[1], ARGV[1])")
	appendB = NewScript("allow-oom", "-- B", "return redis.call('rpush', KEYS[1], ARGV[1])")
	echo    = NewScript("allow-oom", "", "return ARGV[1]")
	count   = NewScript("", "", "return redis.call('incr', KEYS[1])")
)

// piped starts a pipeline to a server at addr.
func piped(t *testing.T, addr string) *pipeline {
	t.Helper()
	p := startPipeline(dial(t, "redis://"+addr))
	t.Cleanup(p.Close)
	return p
}

// to makes a message.
func to(keys []string, args ...any) *Message {
	m := NewMessage(len(keys), len(args))
	for _, k := range keys {
		m.Add(k)
	}
	for _, a := range args {
		m.Add(fmt.Sprint(a))
	}
	return m
}

// submit queues a call without waiting for its reply, so that a test can tell the
// order of calls.
func submit(t *testing.T, p *pipeline, ctx context.Context, s *Script, arg string) *call {
	t.Helper()
	c := &call{ctx: ctx, script: s, message: to([]string{"list"}, arg), done: make(chan struct{})}
	if err := p.lanes[0].submit(c); err != nil {
		t.Fatalf("submit %s: %v", arg, err)
	}
	return c
}

// onItsWay waits until all that was queued is sent.
func onItsWay(t *testing.T, p *pipeline) {
	t.Helper()
	redistest.Await(t, "it leaves the queue", func() bool { return len(p.lanes[0].queue) == 0 })
	time.Sleep(20 * time.Millisecond) // from there into the connection
}

func finished(t *testing.T, p *pipeline, calls ...*call) {
	t.Helper()
	for _, c := range calls {
		if _, err := p.lanes[0].wait(c); err != nil {
			t.Fatalf("call %v: %v", c.message, err)
		}
	}
}

func wantList(t *testing.T, client *goredis.Client, want ...string) {
	t.Helper()
	if got := client.LRange(t.Context(), "list", 0, -1).Val(); !slices.Equal(got, want) {
		t.Errorf("Redis has run %q, want %q", got, want)
	}
}

func TestEvalReturnsReplies(t *testing.T) {
	p := piped(t, redistest.Patient(redistest.Start(t).Addr))
	for _, tt := range []struct {
		body string
		want any
	}{
		{"return 7", int64(7)},
		{"return 'x'", "x"},
		{"return {1, 'x', {}}", []any{int64(1), "x", []any{}}},
		{"return nil", nil},
		{"return false", nil},
		{"return redis.status_reply('FINE')", "FINE"},
		{"return KEYS[1] .. ARGV[1] .. ARGV[2]", "k1two"},
	} {
		s := NewScript("", "", tt.body)
		for _, how := range []string{"first", "second"} { // in full, then by its name
			got, err := p.eval(t.Context(), "n", s, to([]string{"k"}, 1, "two"))
			if err != nil || fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("%s, %s time = %v, %v, want %v", tt.body, how, got, err, tt.want)
			}
		}
	}
}

func TestEvalScriptError(t *testing.T) {
	p := piped(t, redistest.Patient(redistest.Start(t).Addr))
	for _, body := range []string{"return redis.error_reply('MINE own error')", "return redis.call('nosuch')", "syntax error"} {
		_, err := p.eval(t.Context(), "n", NewScript("", "", body), to(nil))
		var reply goredis.Error
		if !errors.As(err, &reply) {
			t.Errorf("%s: err = %v, want the reply of Redis", body, err)
		}
		if errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrRefused) {
			t.Errorf("%s: err = %v, which says that the script has not answered", body, err)
		}
	}
}

func TestEvalThousandCallers(t *testing.T) {
	s := redistest.Start(t)
	p := piped(t, redistest.Patient(s.Addr))
	const callers, each = 1000, 5
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for j := range each {
				want := fmt.Sprintf("%d.%d", i, j)
				if got, err := p.eval(t.Context(), want, echo, to(nil, want)); got != want || err != nil {
					t.Errorf("caller %s got %v, %v", want, got, err)
				}
			}
		})
	}
	wg.Wait()
	stats := s.CommandStats(t)
	if got := stats["eval"] + stats["evalsha"]; got != callers*each {
		t.Errorf("Redis ran %d scripts, want %d", got, callers*each)
	}
	if got := stats["hello"] - 1; got != lanes { // the other one is CommandStats' own
		t.Errorf("%d connections were made, want %d", got, lanes)
	}
}

func TestEvalKeepsNameInOneLane(t *testing.T) {
	s := redistest.Start(t)
	p := piped(t, redistest.Patient(s.Addr))
	s.Pause()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { _, _ = p.eval(t.Context(), "n", echo, to(nil, "x")) })
	}
	queued := func() []int { return []int{len(p.lanes[0].queue), len(p.lanes[1].queue)} }
	redistest.Await(t, "the calls are queued", func() bool { q := queued(); return q[0]+q[1] > 10 })
	if q := queued(); q[0] > 0 && q[1] > 0 {
		t.Errorf("calls of one name are queued in both lanes: %v", q)
	}
	s.Resume()
	wg.Wait()
}

// A lane that is full or stopped must not hold its callers.
func TestSubmitGivesUp(t *testing.T) {
	l := &lane{queue: make(chan *call), stopped: make(chan struct{})}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.submit(&call{ctx: gone}); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("full: err = %v, want %v", err, backend.ErrUnavailable)
	}
	close(l.stopped)
	if err := l.submit(&call{ctx: t.Context()}); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("stopped: err = %v, want %v", err, backend.ErrRefused)
	}
}

func TestEvalAfterScriptFlush(t *testing.T) {
	s := redistest.Start(t)
	p, client := piped(t, redistest.Patient(s.Addr)), s.Client()
	for round := range 3 {
		for range 3 {
			if _, err := p.eval(t.Context(), "n", count, to([]string{"n"})); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if got := client.Get(t.Context(), "n").Val(); got != "9" {
		t.Errorf("the script ran %s times, want 9", got)
	}
	if got := s.CommandStats(t)["eval"]; got != 3 {
		t.Errorf("the script was sent in full %d times, want 3", got)
	}
}

func TestLaneKeepsOrder(t *testing.T) {
	s := redistest.Start(t)
	p, client, ctx := piped(t, redistest.Patient(s.Addr)), s.Client(), t.Context()
	for _, tt := range []struct {
		name   string
		before func()
	}{
		{"first use of one script", func() { finished(t, p, submit(t, p, ctx, appendA, "known")) }},
		{"scripts forgotten", func() { client.ScriptFlush(ctx) }},
		{"nothing special", func() {}},
		{"another server that knows one script", func() {
			s.Kill()
			if _, err := p.lanes[0].wait(submit(t, p, ctx, appendA, "lost")); !errors.Is(err, backend.ErrUnreachable) {
				t.Fatalf("eval without Redis: err = %v, want %v", err, backend.ErrUnreachable)
			}
			s.Restart()
			client.ScriptLoad(ctx, appendA.Source)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.before()
			client.Del(ctx, "list")
			s.Pause() // so that they leave as one batch behind the first
			var calls []*call
			var want []string
			for i := range 20 {
				want = append(want, strconv.Itoa(i))
				calls = append(calls, submit(t, p, ctx, []*Script{appendB, appendA}[i%2], want[i]))
			}
			s.Resume()
			finished(t, p, calls...)
			wantList(t, client, want...)
		})
	}
}

func TestEvalEndsWithContext(t *testing.T) {
	s := redistest.Start(t)
	p, client, ctx := piped(t, redistest.Patient(s.Addr)), s.Client(), t.Context()
	finished(t, p, submit(t, p, ctx, appendA, "before"))
	s.Pause()
	short, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sent := submit(t, p, short, appendA, "sent")
	onItsWay(t, p)
	queued := submit(t, p, short, appendA, "queued")
	cancel(errors.New("the caller has gone")) // while the server stands still
	for _, c := range []*call{sent, queued} {
		_, err := p.lanes[0].wait(c)
		if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "the caller has gone") {
			t.Errorf("call %v: err = %v, want %v with the cause", c.message, err, backend.ErrUnavailable)
		}
	}
	if _, err := p.eval(short, "n", echo, to(nil, "x")); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("eval with a context that is done: err = %v, want %v", err, backend.ErrUnavailable)
	}
	s.Resume()
	finished(t, p, submit(t, p, ctx, appendA, "after"))
	wantList(t, client, "before", "sent", "after") // nobody waited for "queued" any more
}

func TestBatchIsBounded(t *testing.T) {
	l := &lane{queue: make(chan *call, maxQueued)}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 300 {
		c := &call{ctx: t.Context()}
		if i%2 == 1 {
			c.ctx = gone
		}
		l.queue <- c
	}
	first, taken := l.batch(<-l.queue)
	second, rest := l.batch(<-l.queue)
	if taken+rest != 300 {
		t.Errorf("%d calls were taken, want 300", taken+rest)
	}
	if len(first) != maxBatch || len(second) != 150-maxBatch {
		t.Errorf("batches of %d and %d, want %d and %d", len(first), len(second), maxBatch, 150-maxBatch)
	}
}

func TestEvalWithoutRedis(t *testing.T) {
	s := redistest.Start(t)
	p := piped(t, s.Addr)
	eval := func() error {
		_, err := p.eval(t.Context(), "n", count, to([]string{"n"}))
		return err
	}
	if err := eval(); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	for range 3 {
		// The first may have been sent on the old connection.
		if err := eval(); !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrUnreachable) {
			t.Errorf("killed: err = %v, want %v", err, backend.ErrUnreachable)
		}
	}
	s.Restart()
	if err := eval(); err != nil {
		t.Errorf("restarted: err = %v, want nil", err)
	}
	s.Pause()
	began := time.Now()
	if err := eval(); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("paused: err = %v, want %v", err, backend.ErrUnavailable)
	}
	if took := time.Since(began); took > 20*conn.IOTimeout {
		t.Errorf("paused: the error took %v, want about %v", took, conn.IOTimeout)
	}
	s.Resume()
	if err := eval(); err != nil {
		t.Errorf("resumed: err = %v, want nil", err)
	}
}

// A request whose reply is lost must not be sent again behind the caller's back.
func TestEvalSendsOnce(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault redistest.Fault
		want  string
	}{
		{"drop replies", redistest.DropReplies, "2"},
		{"close on reply", redistest.CloseOnReply, "2"},
		{"black hole", redistest.BlackHole, "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := redistest.Start(t)
			link := redistest.Proxy(t, s.Addr)
			p := piped(t, link.Addr)
			if _, err := p.eval(t.Context(), "n", count, to([]string{"n"})); err != nil {
				t.Fatal(err)
			}
			link.Set(tt.fault)
			if _, err := p.eval(t.Context(), "n", count, to([]string{"n"})); !errors.Is(err, backend.ErrUnavailable) {
				t.Errorf("err = %v, want %v", err, backend.ErrUnavailable)
			}
			if got := s.Client().Get(t.Context(), "n").Val(); got != tt.want {
				t.Errorf("the script ran %s times, want %s", got, tt.want)
			}
			link.Set(redistest.Pass)
			if _, err := p.eval(t.Context(), "n", count, to([]string{"n"})); err != nil {
				t.Errorf("after the fault: err = %v, want nil", err)
			}
		})
	}
}

func TestPipelineClose(t *testing.T) {
	s := redistest.Start(t)
	client := dial(t, redistest.Patient(s.URL()))
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	running := goleak.IgnoreCurrent()
	p := startPipeline(client)
	finished(t, p, submit(t, p, t.Context(), appendA, "before"))
	client.ScriptFlush(t.Context()) // so that what is under way has to be sent twice
	s.Pause()
	sent := submit(t, p, t.Context(), appendA, "sent")
	onItsWay(t, p)
	queued := submit(t, p, t.Context(), appendA, "queued")
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		p.Close()
	}()
	select {
	case <-closed:
		t.Error("Close did not wait for the reply to what was sent")
	case <-time.After(50 * time.Millisecond):
	}
	s.Resume()
	<-closed
	if got, err := p.lanes[0].wait(sent); got != int64(2) || err != nil {
		t.Errorf("what was sent: %v, %v, want 2", got, err)
	}
	if _, err := p.lanes[0].wait(queued); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("what was queued: err = %v, want %v", err, backend.ErrRefused)
	}
	if _, err := p.eval(t.Context(), "n", echo, to(nil, "x")); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("eval after Close: err = %v, want %v", err, backend.ErrRefused)
	}
	wantList(t, s.Client(), "before", "sent")
	goleak.VerifyNone(t, running)
}
