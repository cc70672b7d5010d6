package limits

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/rig"
)

// assault is what goes on until ctx is done. All of it is one user, who is none of those
// that the gateway serves otherwise.
type assault struct {
	resp, http string // sockets of the gateway that is attacked

	ctx  context.Context
	user *callers.Dialer
	done atomic.Int64 // requests, connections or turns
	over atomic.Int64 // of them those that the gateway has refused or ended
	why  atomic.Value // string, of the last of those
}

// attackerUser is who attacks.
const attackerUser = 2000

// attacker is one way to attack: so many do it at once.
type attacker struct {
	name  string
	what  string // in words
	n     int
	unit  string // what it counts
	begin func(a *assault, i int) error
}

var attackers = []attacker{
	{"slowloris", "connections to http.sock that send a byte a second", 1000, "connections", (*assault).slowloris},
	{"slow-readers", "connections to resp.sock that ask and do not read", 100, "connections", (*assault).slowReader},
	{"flood", "pipelining connections of one session, LOCK and UNLOCK", 64, "pairs", nil}, // see flood
	{"bad-requests", "oversized bulks, deep JSON, huge headers", 32, "requests", (*assault).badRequest},
	{"come-and-go", "waiters that come and go", 1000, "waits", (*assault).comeAndGo},
	{"ids", "callers whose requests have ids", 32, "requests", (*assault).withIDs},
}

// begun is what an attacker prints once it does something.
const begun = "begun"

// Attack is the process that attacks, until SIGTERM; then it prints what it has done.
func Attack(name, resp, http string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	a := &assault{resp: resp, http: http, ctx: ctx, user: callers.NewDialer(attackerUser)}
	for _, k := range attackers {
		if k.name != name {
			continue
		}
		begin := k.begin
		if begin == nil {
			token, err := a.session()
			if err != nil {
				return err
			}
			begin = func(a *assault, i int) error { return a.flood(token, i) }
		}
		var wg sync.WaitGroup
		for i := range k.n {
			wg.Go(func() { a.again(begin, i) })
		}
		for a.done.Load() == 0 && a.rest(time.Millisecond) {
		}
		fmt.Println(begun)
		<-ctx.Done()
		why, _ := a.why.Load().(string)
		fmt.Printf("%d %d %q\n", a.done.Load(), a.over.Load(), why)
		return nil // the end of the process ends what hangs
	}
	return fmt.Errorf("no attack %q", name)
}

// again does it until the end: whoever is refused comes back.
func (a *assault) again(begin func(*assault, int) error, i int) {
	for a.ctx.Err() == nil {
		if err := begin(a, i); err != nil {
			a.over.Add(1)
			a.why.Store(err.Error())
			a.rest(10 * time.Millisecond)
		}
	}
}

// rest waits; false: it is over.
func (a *assault) rest(d time.Duration) bool { return rig.Pause(a.ctx, d) == nil }

// slowloris sends a request that never ends.
func (a *assault) slowloris(int) error {
	w, err := a.user.Dial(a.http)
	if err != nil {
		return err
	}
	defer w.Close()
	a.done.Add(1)
	for _, c := range []byte("GET /v1/locks HTTP/1.1\r\nHost: " + strings.Repeat("x", 1<<10)) {
		if _, err := w.Write([]byte{c}); err != nil {
			return err
		}
		if !a.rest(time.Second) {
			return nil
		}
	}
	return nil
}

// slowReader asks for the longest answer that there is, and takes nothing of it.
func (a *assault) slowReader(int) error {
	w, err := a.user.Dial(a.resp)
	if err != nil {
		return err
	}
	defer w.Close()
	a.done.Add(1)
	asks := bytes.Repeat(callers.Encode("COMMAND", "DOCS"), 100)
	for {
		if _, err := w.Write(asks); err != nil {
			return err
		}
	}
}

// session opens the session that all of a flood share.
func (a *assault) session() (string, error) {
	w, err := a.user.Dial(a.http)
	if err != nil {
		return "", err
	}
	defer w.Close()
	return w.OpenSession()
}

// flood sends pairs without a pause, in pipelines.
func (a *assault) flood(token string, i int) error {
	w, err := a.user.Dial(a.resp)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Ask(callers.Encode("AUTH", token)); err != nil {
		return err
	}
	const pairs = 16
	lock, unlock := callers.Encode("LOCK", "flood"+strconv.Itoa(i)), callers.Encode("UNLOCK", "flood"+strconv.Itoa(i))
	batch := bytes.Repeat(append(lock, unlock...), pairs)
	for a.ctx.Err() == nil {
		if _, err := w.Write(batch); err != nil {
			return err
		}
		for range 2 * pairs {
			if err := w.Answered(); err != nil {
				return err
			}
		}
		a.done.Add(pairs)
	}
	return nil
}

// badRequest sends something that is refused. That is an error only if it is not refused.
func (a *assault) badRequest(i int) error {
	path, text := a.resp, "*2\r\n$4\r\nLOCK\r\n$536870912\r\n"+strings.Repeat("x", 64<<10)
	switch i % 3 {
	case 1:
		body := `{"meta":` + strings.Repeat(`{"a":`, 6<<10) + strings.Repeat("}", 6<<10) + "}"
		path, text = a.http, string(callers.Request("POST", "/v1/sessions", "", body))
	case 2:
		path, text = a.http, "GET /v1/locks HTTP/1.1\r\nHost: lockgw\r\nX-Huge: "+strings.Repeat("x", 64<<10)+"\r\n\r\n"
	}
	w, err := a.user.Dial(path)
	if err != nil {
		return err
	}
	defer w.Close()
	a.done.Add(1)
	_, _ = io.WriteString(w, text) // the gateway need not take all of it
	line, err := bufio.NewReader(w).ReadString('\n')
	if err != nil && line == "" {
		return nil // closed: refused, too
	}
	if !strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "HTTP/1.1 4") {
		return fmt.Errorf("answer %q", line)
	}
	return nil
}

// comeAndGo waits for what nobody gives back, and hangs up.
func (a *assault) comeAndGo(i int) error {
	w, err := a.user.Dial(a.resp)
	if err != nil {
		return err
	}
	defer w.Close()
	a.done.Add(1)
	name := "wanted"
	if i == 0 { // the one that the others wait for
		err := w.Ask(callers.Encode("LOCK", name, "WAIT", "60"))
		<-a.ctx.Done()
		return err
	}
	if _, err := w.Write(callers.Encode("LOCK", name, "WAIT", "60")); err != nil {
		return err
	}
	a.rest(time.Duration(50+i%100) * time.Millisecond)
	return nil
}

// withIDs sends requests that the gateway has to remember.
func (a *assault) withIDs(i int) error {
	w, err := a.user.Dial(a.resp)
	if err != nil {
		return err
	}
	defer w.Close()
	for n := 0; a.ctx.Err() == nil; n++ {
		id := strconv.Itoa(i) + "-" + strconv.Itoa(n)
		for _, ask := range [][]byte{callers.Encode("LOCK", "id"+strconv.Itoa(i), "REQ", "a"+id), callers.Encode("UNLOCK", "id"+strconv.Itoa(i), "REQ", "b"+id)} {
			a.done.Add(1)
			if err := w.Ask(ask); err != nil {
				return err
			}
		}
	}
	return nil
}
