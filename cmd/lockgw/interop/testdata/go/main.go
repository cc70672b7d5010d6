// Command goclients is a program that locks with redsync or bsm/redislock as it is
// told on its input (see README.md): goclients redsync|redislock MODE ADDRESS
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	patience = time.Minute
	lease    = 5 * time.Second // of an addition
)

// lock is what the libraries have in common.
type lock interface {
	// acquire tells whether the lock was had within wait.
	acquire(ctx context.Context, wait, lease time.Duration) (bool, error)
	// release tells whether the lock was still held.
	release(ctx context.Context) (bool, error)
	extend(ctx context.Context, lease time.Duration) error
}

// peer is the program.
type peer struct {
	client *goredis.Client
	locks  func(name string) lock

	mu sync.Mutex // one line at a time
}

// worker does one thing after the other and knows its own locks.
type worker struct {
	*peer
	tasks chan []string
	held  map[string]lock
}

func main() {
	client := goredis.NewClient(&goredis.Options{Addr: os.Args[3]})
	p := &peer{client: client}
	switch os.Args[1] {
	case "redsync":
		p.locks = redsyncLocks(client)
	case "redislock":
		p.locks = redislockLocks(client)
	}
	if err := client.Ping(context.Background()).Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	p.say("ready")
	workers := map[string]*worker{}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		w := workers[words[1]]
		if w == nil {
			w = &worker{p, make(chan []string, 10), map[string]lock{}}
			workers[words[1]] = w
			go w.loop()
		}
		w.tasks <- words
	}
}

func (p *peer) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Println(line)
}

func (w *worker) loop() {
	for words := range w.tasks {
		answer, err := w.run(context.Background(), words[2], words[4], words[5:])
		if err != nil {
			w.say(words[0] + " error " + strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		w.say(words[0] + " ok " + answer)
	}
}

func (w *worker) run(ctx context.Context, operation, name string, args []string) (string, error) {
	switch operation {
	case "lock":
		l := w.locks(name)
		got, err := l.acquire(ctx, ms(args[0]), ms(args[1]))
		if err != nil || !got {
			return "busy", err
		}
		w.held[name] = l
		return "0", nil
	case "unlock":
		l := w.held[name]
		delete(w.held, name)
		held, err := l.release(ctx)
		if err != nil || held {
			return "done", err
		}
		return "nothold", nil
	case "extend":
		return "done", w.held[name].extend(ctx, ms(args[0]))
	case "tries":
		return w.tries(ctx, name, ms(args[0]))
	case "add":
		times, _ := strconv.Atoi(args[1])
		for range times {
			if err := w.add(ctx, name, args[0]); err != nil {
				return "", err
			}
		}
		return "done", nil
	}
	return "", fmt.Errorf("no operation %s", operation)
}

// tries takes the lock whenever it can be had, and answers how often.
func (w *worker) tries(ctx context.Context, name string, d time.Duration) (string, error) {
	got := 0
	for end := time.Now().Add(d); time.Now().Before(end); {
		l := w.locks(name)
		ok, err := l.acquire(ctx, 0, 30*time.Second)
		if err == nil && ok {
			got++
			_, err = l.release(ctx)
		}
		if err != nil {
			return "", err
		}
	}
	return strconv.Itoa(got), nil
}

// add adds 1 to a counter in steps that only a lock makes one.
func (w *worker) add(ctx context.Context, name, counter string) error {
	l := w.locks(name)
	if ok, err := l.acquire(ctx, patience, lease); err != nil || !ok {
		return fmt.Errorf("no lock in %v: %w", patience, err)
	}
	if !w.client.SetNX(ctx, counter+":inside", "go", 0).Val() {
		return errors.New("somebody else is inside")
	}
	n, _ := w.client.Get(ctx, counter).Int()
	w.client.Set(ctx, counter, n+1, 0)
	w.client.Del(ctx, counter+":inside")
	_, err := l.release(ctx)
	return err
}

func ms(text string) time.Duration {
	n, _ := strconv.Atoi(text)
	return time.Duration(n) * time.Millisecond
}
