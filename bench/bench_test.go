package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets this binary be the servers that a run starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		if err := play(os.Args[1:]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// A small run of everything: each row has figures, and each target is measured.
func TestRun(t *testing.T) {
	p := plan{
		callers: []int{1, 32}, slice: 10 * time.Millisecond, rounds: 2, crowd: 20, pass: 6,
		holds: 30, waits: 30, watch: 50 * time.Millisecond, peers: true, lockgw: lockgw(t),
	}
	var out strings.Builder
	if err := run(t.Context(), &out, p); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{
		limitName, plainName, redislockName, socketName, turnsName, distantName, "redsync", "rueidislock, 3 keys",
		"lockgw HTTP, redis://", "locks held", "callers wait, HTTP",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no row %q", want)
		}
	}
	if got := strings.Count(text, "\nreached") + strings.Count(text, "\nMISSED"); got != len(targets) {
		t.Errorf("%d targets judged, want %d", got, len(targets))
	}
	if t.Failed() {
		t.Log(text)
	}
}

// What a pair asks of Redis is a fact that no busy machine can blur.
func TestCountsCommands(t *testing.T) {
	r, err := openRig(t.Context(), lockgw(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.startAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got table
	c := contest{group: soloGroup, n: 1, rounds: 2, once: loadFor(50 * time.Millisecond), plain: plainName, all: r.pairs(plan{})}
	if err := c.hold(t.Context(), r, &got); err != nil {
		t.Fatal(err)
	}
	one := got.find(soloGroup, plainName, 1)
	if n := one.work.commands / one.ops; n < 3.9 || n > 4.5 { // SET, EVALSHA, GET, DEL
		t.Errorf("%s: %.2f commands of Redis for a pair, want 4", plainName, n)
	}
	one = got.find(soloGroup, "lockgw socket, memory://", 1)
	if n := one.work.scripts / one.ops; n > 0.1 {
		t.Errorf("%s: %.2f scripts for a pair, want none", one.name, n)
	}
}

func TestProfile(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	if err := profileTo(t.Context(), &out, dir, plan{slice: 5 * time.Millisecond, lockgw: lockgw(t)}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "allocations"); got != 6 {
		t.Errorf("%d loads were profiled, want 6:\n%s", got, &out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 12 {
		t.Errorf("profiles %v, err %v, want 12", files, err)
	}
}

// lockgw is the program, built once for all tests.
func lockgw(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lockgw")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Many messages at once are late by the same time, not one after the other.
func TestForwardDelays(t *testing.T) {
	const d = 50 * time.Millisecond
	var took time.Duration
	for range 10 { // a busy machine may need as long as five delays one after the other, but not every time
		if took = forwarded(t, d); took < d {
			break
		}
		if took <= 4*d {
			return
		}
	}
	t.Errorf("took %v, want about %v", took, d)
}

// forwarded is how long five characters take there and back, sent at once.
func forwarded(t *testing.T, d time.Duration) time.Duration {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		if c, err := ln.Accept(); err == nil {
			echo(c)
		}
	}()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close() })
	go forward(far, ln.Addr().String(), d)
	began := time.Now()
	for _, s := range []string{"a", "b", "c", "d", "e"} {
		if _, err := io.WriteString(near, s); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(near, got); err != nil || string(got) != "abcde" {
		t.Fatalf("read %q, err %v, want abcde", got, err)
	}
	return time.Since(began)
}

func TestPlayRefuses(t *testing.T) {
	for _, args := range [][]string{{"serve"}, {"echo"}, {"delay", "a", "b"}, {"delay", "a", "b", "long"}, {"gateway", "a"}} {
		if err := play(args); err == nil {
			t.Errorf("play(%q) did not fail", args)
		}
	}
}

// A limit that sends less than the lock would be none.
func TestPingLike(t *testing.T) {
	lock, unlock := lockAndUnlock("bench")
	for _, request := range [][]byte{lock, unlock} {
		if ping, _ := pingLike(request); len(ping) != len(request) {
			t.Errorf("a PING like %q has %d bytes, want %d", request, len(ping), len(request))
		}
	}
}

func TestFetch(t *testing.T) {
	for _, tt := range []struct {
		name, answer, body string
		fails              bool
	}{
		{"a body", "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", "{}", false},
		{"no body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", false},
		{"refused", "HTTP/1.1 423 Locked\r\nContent-Length: 2\r\n\r\n{}", "", true},
		{"a bad length", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "", true},
		{"cut off", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "", true},
	} {
		near, far := net.Pipe()
		go func() {
			_, _ = far.Read(make([]byte, 1024))
			_, _ = io.WriteString(far, tt.answer)
			far.Close()
		}()
		w := &wire{near, bufio.NewReader(near)}
		body, err := w.fetch(request("GET", "/livez", "", ""))
		if string(body) != tt.body && !tt.fails || (err != nil) != tt.fails {
			t.Errorf("%s: body %q, err %v, want %q, failure %v", tt.name, body, err, tt.body, tt.fails)
		}
		near.Close()
	}
}

func TestMedians(t *testing.T) {
	if got := median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("median = %v, want 5", got)
	}
	sorted := []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	if got := quantile(sorted, 0.99); got != 10 {
		t.Errorf("quantile 0.99 = %v, want 10", got)
	}
	if got := quantile(sorted[:1], 0.99); got != 1 {
		t.Errorf("quantile 0.99 of one = %v, want 1", got)
	}
	// The ratio is of each round: a machine that becomes slower changes both.
	a, b := &row{samples: []sample{{rate: 10}, {rate: 1}, {rate: 2}}}, &row{samples: []sample{{rate: 20}, {rate: 2}, {rate: 4}}}
	if got := over(func(s []sample) float64 { return s[0].rate / s[1].rate }, a, b); got != 0.5 {
		t.Errorf("ratio = %v, want 0.5", got)
	}
}

func TestJudge(t *testing.T) {
	always := func(ratio float64, ok bool) func(*table) (float64, bool) {
		return func(*table) (float64, bool) { return ratio, ok }
	}
	for _, tt := range []struct {
		target target
		want   string
	}{
		{target{bound: 1.6, ratio: always(1.6, true)}, "reached"},
		{target{bound: 1.6, ratio: always(1.61, true)}, "MISSED"},
		{target{bound: 0.8, least: true, ratio: always(0.8, true)}, "reached"},
		{target{bound: 0.8, least: true, ratio: always(0.79, true)}, "MISSED"},
		{target{bound: 0.8, ratio: always(0, false)}, "not measured"},
	} {
		if got := tt.target.judge(&table{}); !strings.HasPrefix(got, tt.want) {
			t.Errorf("judge = %q, want %q", got, tt.want)
		}
	}
}

// A caller that fails ends the measurement with its error.
func TestLoadTellsErrors(t *testing.T) {
	c := crew{ops: []op{func() error { return nil }, func() error { return io.ErrUnexpectedEOF }}}
	if _, err := load(c, time.Millisecond); err == nil || !strings.Contains(err.Error(), io.ErrUnexpectedEOF.Error()) {
		t.Errorf("err = %v, want %v", err, io.ErrUnexpectedEOF)
	}
}

// A server that ends at once is told with what it wrote.
func TestStartShowsLog(t *testing.T) {
	never := func(context.Context) error { return io.EOF }
	_, err := start(t.Context(), t.TempDir(), "failing", never, "sh", "-c", "echo no such thing; exit 1")
	if err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("err = %v, want what the server wrote", err)
	}
}
