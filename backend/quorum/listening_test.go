package quorum

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// served is a Listening whose ends a test decides. Each n of begin begins one, 0 fails to.
type served struct {
	*Listening[int]
	begin chan int
	end   chan error
	log   strings.Builder
}

func serve(t *testing.T, stays bool) *served {
	t.Helper()
	s := &served{begin: make(chan int), end: make(chan error)}
	s.Listening = NewListening[int](Listens{
		Store: "the store", Over: "it is over", Stays: stays, Log: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	life, end := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(life, func(bool) (bool, error) {
			n := <-s.begin
			if n != 0 {
				s.Ready(n)
			}
			select {
			case err := <-s.end:
				return n != 0, err
			case <-s.Kicked():
				return true, errors.New("kicked")
			case <-life.Done():
				return true, life.Err()
			}
		})
	}()
	t.Cleanup(func() {
		end()
		select {
		case s.begin <- 1:
		case <-done:
		}
		<-done
	})
	return s
}

func (s *served) asks(t *testing.T) (n int, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return s.Wait(ctx)
}

var errGone = errors.New("gone")

// Requests wait while one begins, also if the one before was short; they fail when none does,
// and say that nothing was sent.
func TestListeningWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, false)
		if _, err := s.asks(t); !errors.Is(err, backend.ErrUnreachable) {
			t.Errorf("before there is one: %v", err)
		}
		s.begin <- 0
		s.end <- errGone
		synctest.Wait()
		if _, err := s.asks(t); !errors.Is(err, backend.ErrUnreachable) || !strings.Contains(err.Error(), "gone") {
			t.Errorf("when none begins: %v", err)
		}
		if err := s.Trouble(); !errors.Is(err, backend.ErrUnavailable) || !errors.Is(err, errGone) {
			t.Errorf("trouble = %v", err)
		}
		for n := 1; n <= 2; n++ { // of which the first lasts, and the second does not
			s.begin <- n
			synctest.Wait()
			if got, err := s.asks(t); got != n || err != nil || s.Present() != n || s.Trouble() != nil {
				t.Errorf("it is %d, %v, want %d", got, err, n)
			}
			if n == 1 {
				time.Sleep(time.Second)
			}
			s.end <- errGone
			synctest.Wait()
			if got := s.Present(); got != 0 {
				t.Errorf("%d is over, and present", got)
			}
			if err := s.Trouble(); (err != nil) != (n == 2) {
				t.Errorf("after %d the trouble is %v", n, err)
			}
		}
		if _, err := s.asks(t); !errors.Is(err, backend.ErrUnreachable) {
			t.Errorf("who asks before the next one: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Wait(ctx); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "given up") {
			t.Errorf("who has given up: %v", err)
		}
		if got := strings.Count(s.log.String(), "it is over"); got != 2 {
			t.Errorf("%d ends were told, want 2: %s", got, &s.log)
		}
	})
}

// One that was lost is of no use, and another one begins. Who means an earlier one changes
// nothing.
func TestListeningLost(t *testing.T) {
	for _, stays := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, stays)
			s.begin <- 1
			synctest.Wait()
			s.Lost(7)
			if got := s.Present(); got != 1 {
				t.Errorf("another one was lost, and it is %d", got)
			}
			s.Lost(1)
			s.Lost(1)
			if got := s.Present(); got != 0 {
				t.Errorf("%d is lost, and present", got)
			}
			s.begin <- 2
			synctest.Wait()
			s.Lost(1)
			if got, err := s.asks(t); got != 2 || err != nil {
				t.Errorf("it is %d, %v, want the second", got, err)
			}
			s.end <- errGone
			synctest.Wait()
			if got := s.Present(); (got == 2) != stays {
				t.Errorf("one that stays: %v; after its end it is %d", stays, got)
			}
			s.Lost(2) // which is over already
			s.begin <- 3
			synctest.Wait()
			if got := strings.Count(s.log.String(), "kicked"); got != 1 || s.Present() != 3 {
				t.Errorf("it is %d, and %d were ended because they were lost, want 3 and 1", s.Present(), got)
			}
		})
	}
}

// That the store is not used is said once, and as it is; and again if that comes about again.
func TestListeningRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, false)
		why := backend.NotSent("the user lacks a right")
		for range 3 {
			s.begin <- 0
			s.end <- why
		}
		synctest.Wait()
		if err := s.Trouble(); err == nil || err.Error() != why.Error() {
			t.Errorf("trouble = %v, want %v", err, why)
		}
		if got := strings.Count(s.log.String(), "the store is not used"); got != 1 {
			t.Errorf("it was said %d times: %s", got, &s.log)
		}
		s.begin <- 1
		s.end <- errGone
		s.begin <- 0
		s.end <- why
		synctest.Wait()
		if got := strings.Count(s.log.String(), "the store is not used"); got != 2 {
			t.Errorf("it was used meanwhile, and it was said %d times: %s", got, &s.log)
		}
	})
}

// Of each member that cannot be reached it is said once why, and of those whose words change with
// each try not for ever.
func TestListeningUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, false)
		fail := func(err error) {
			s.begin <- 0
			s.end <- err
		}
		for n := range 6 {
			fail(fmt.Errorf("%w: member %d", backend.ErrUnreachable, n%3))
		}
		synctest.Wait()
		for n := range 3 {
			if got := strings.Count(s.log.String(), fmt.Sprint("member ", n)); got != 1 {
				t.Errorf("why member %d cannot be reached is said %d times, want once: %s", n, got, &s.log)
			}
		}
		for n := range 20 {
			fail(fmt.Errorf("%w: from port %d", backend.ErrUnreachable, n))
		}
		fail(backend.NotSent("the user lacks a right"))
		synctest.Wait()
		if got := s.log.String(); strings.Count(got, "from port") > mostTold || strings.Count(got, "lacks a right") != 1 {
			t.Errorf("want that a right is lacking, and not all of the ports: %s", got)
		}
	})
}
