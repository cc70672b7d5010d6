package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// An upgrade refuses no connection: one that is made while no gateway runs is
// served by the next one, and one that the last gateway has accepted still gets
// its answer.
func TestRestartRefusesNobody(t *testing.T) {
	restarts := 100
	if testing.Short() {
		restarts = 10
	}
	s := newSystemd(t)
	web, resp, tcp := s.listenAll()
	before := socketFiles(t, web, resp)
	ctx, cancel := context.WithCancelCause(t.Context())
	var clients sync.WaitGroup
	var answered [3]atomic.Int64
	callers := []func(int64) error{
		func(n int64) error { return callSocket(resp, fmt.Sprint("resp-", n)) },
		func(n int64) error { return callHTTP("unix", web, fmt.Sprint("http-", n)) },
		func(n int64) error { return callHTTP("tcp", tcp, fmt.Sprint("tcp-", n)) },
	}
	for i, call := range callers {
		clients.Go(func() { callAlways(ctx, cancel, &answered[i], call) })
	}
	for n := 0; n < restarts && ctx.Err() == nil; n++ {
		gateway := s.start(nil)
		s.await("READY=1")
		seen := [3]int64{answered[0].Load(), answered[1].Load(), answered[2].Load()}
		e2e.Until(func() bool { // each is in the middle of it
			return ctx.Err() != nil || answered[0].Load() > seen[0]+1 && answered[1].Load() > seen[1]+1 && answered[2].Load() > seen[2]+1
		})
		s.stop(gateway)
	}
	last := s.start(nil)
	s.await("READY=1")
	cancel(nil)
	clients.Wait()
	s.stop(last)
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for i, info := range socketFiles(t, web, resp) {
		if !os.SameFile(before[i], info) {
			t.Errorf("%s was replaced", info.Name())
		}
	}
	for i := range answered {
		t.Logf("client %d: %d connections", i, answered[i].Load())
		if n := answered[i].Load(); n < int64(2*restarts) {
			t.Errorf("client %d was answered %d times in %d restarts", i, n, restarts)
		}
	}
}

func socketFiles(t *testing.T, paths ...string) (infos []os.FileInfo) {
	t.Helper()
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatalf("the socket of the service manager is gone: %v", err)
		}
		infos = append(infos, info)
	}
	return infos
}

// callAlways calls until ctx is done, or until a call fails, which cancels it.
func callAlways(ctx context.Context, cancel context.CancelCauseFunc, answered *atomic.Int64, call func(int64) error) {
	for ctx.Err() == nil {
		if err := call(answered.Load()); err != nil {
			cancel(fmt.Errorf("after %d answers: %w", answered.Load(), err))
		}
		answered.Add(1)
	}
}

// callSocket acquires over a new connection. A gateway that is going away may say
// so, but has to say it.
func callSocket(path, lock string) error {
	c, err := net.DialTimeout("unix", path, e2e.Patience)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(e2e.Patience)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c, "LOCK %s\r\n", lock); err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, ":") && !strings.HasPrefix(line, "-DRAINING ") {
		return fmt.Errorf("LOCK over %s: %q, %w", path, line, err)
	}
	return nil
}

// callHTTP is callSocket over HTTP.
func callHTTP(network, address, lock string) error {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	c := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: e2e.Patience}
	req, err := http.NewRequest(http.MethodPut, "http://localhost/v1/locks/"+lock, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusServiceUnavailable {
		return fmt.Errorf("acquire over %s: status %d", address, resp.StatusCode)
	}
	return nil
}
