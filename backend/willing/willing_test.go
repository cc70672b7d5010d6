package willing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/willing"
)

// store answers, and refuses new locks as it is told.
type store struct {
	ledger.Table
	refuses func(n int) error // the nth new lock
	keeps   error             // what else is written is refused by that
	ping    error
	asked   int
}

func (s *store) Swap(ctx context.Context, w ledger.Swap) (ledger.Reply, error) {
	if w.Effects.Grants {
		s.asked++
		if err := s.refuses(s.asked); err != nil {
			return ledger.Reply{}, err
		}
	} else if s.keeps != nil {
		return ledger.Reply{}, s.keeps
	}
	return s.Table.Swap(ctx, w)
}

func (s *store) Join(context.Context, string, ledger.Entry, backend.Fence) (ledger.Reply, error) {
	return ledger.Reply{}, s.refuses(0)
}

func (s *store) Look(ctx context.Context, name string) (ledger.Reply, error) {
	if err := s.refuses(0); err != nil {
		return ledger.Reply{}, err
	}
	return s.Table.Look(ctx, name)
}

func (s *store) Renew(context.Context, []ledger.Renewal) ([]error, error) {
	return nil, s.refuses(0)
}

func (s *store) Ping(context.Context) error { return s.ping }

var (
	errFull = fmt.Errorf("%w: the disk is full", backend.ErrRefused)
	errGone = fmt.Errorf("%w: no answer", backend.ErrUnavailable)
)

func always(int) error { return errFull }

// grant asks for a new lock.
func grant(t *testing.T, table ledger.Table) error {
	_, err := table.Swap(t.Context(), ledger.Swap{Name: "n", Effects: ledger.Effects{Grants: true}})
	return err
}

func never(int) error { return nil }

// A store that has refused a new lock is tried, as long as it refuses any.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		rows := memory.NewRows()
		s := &store{Table: memory.OpenTable(rows, "a"), refuses: never}
		table := willing.New(s, slog.New(slog.NewTextHandler(&log, nil)))
		if err := grant(t, table); err != nil {
			t.Fatal(err)
		}
		if err := table.Ping(t.Context()); err != nil || s.asked != 1 {
			t.Fatalf("of a store that has refused nothing: %v, %d locks were asked for", err, s.asked)
		}
		s.asked, s.refuses = 0, always
		if err := grant(t, table); !errors.Is(err, errFull) {
			t.Fatal(err)
		}
		for range 3 { // the second is told what the first found
			if err := table.Ping(t.Context()); !errors.Is(err, errFull) {
				t.Errorf("of a full store: %v", err)
			}
		}
		if s.asked != 1+16 {
			t.Errorf("%d locks were asked for, want one try", s.asked)
		}
		time.Sleep(time.Second)
		s.refuses = func(n int) error {
			if n%2 == 0 {
				return errFull
			}
			return nil
		}
		if err := table.Ping(t.Context()); !errors.Is(err, backend.ErrPartly) || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("of a store that has some room: %v", err)
		}
		time.Sleep(time.Second)
		s.refuses = never
		before := s.asked
		for range 3 {
			if err := table.Ping(t.Context()); err != nil {
				t.Errorf("when there is room: %v", err)
			}
		}
		if s.asked != before+16 {
			t.Errorf("%d locks were asked for when there is room again, want one try", s.asked-before)
		}
		if left, _, err := table.List(t.Context(), "lockgw:", "", 100); err != nil || len(left) > 0 {
			t.Errorf("it leaves %+v, %v", left, err)
		}
		if said := log.String(); strings.Count(said, "grants no new locks") != 1 || strings.Count(said, "grants new locks again") != 1 {
			t.Errorf("the log is %s", said)
		}
	})
}

// A store that grants locks and takes none back is found out, by one that is not given back.
func TestKeepsLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{Table: memory.OpenTable(memory.NewRows(), "a"), refuses: never}
		table := willing.New(s, slog.New(slog.DiscardHandler))
		if err := grant(t, table); err != nil {
			t.Fatal(err)
		}
		s.keeps = errFull
		if _, err := table.Swap(t.Context(), ledger.Swap{Name: "n"}); !errors.Is(err, errFull) {
			t.Fatal(err)
		}
		if err := table.Ping(t.Context()); !errors.Is(err, errFull) || errors.Is(err, backend.ErrPartly) || !strings.Contains(err.Error(), "neither given back nor passed on") {
			t.Errorf("of a store that takes nothing back: %v", err)
		}
		time.Sleep(time.Second)
		s.keeps = errGone
		if err := table.Ping(t.Context()); err != nil {
			t.Errorf("what was not heard of is free soon: %v", err)
		}
	})
}

// Nobody asks for a lock, and a store that would refuse it is found out all the same, and when it
// would no more. While it grants locks, those of callers or the one that is tried, no other is tried.
func TestNobodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{Table: memory.OpenTable(memory.NewRows(), "a"), refuses: never}
		table := willing.New(s, slog.New(slog.DiscardHandler))
		asks := func(want int, when string) {
			t.Helper()
			before := s.asked
			for range 100 {
				if err := table.Ping(t.Context()); err != nil {
					t.Errorf("%s: %v", when, err)
				}
			}
			if n := s.asked - before; n != want {
				t.Errorf("%s: %d locks were asked for, want %d", when, n, want)
			}
		}
		asks(1, "nothing is known")
		time.Sleep(25 * time.Second)
		asks(0, "it has granted one lately")
		if err := grant(t, table); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Second)
		asks(0, "a caller had one lately")
		time.Sleep(5 * time.Second)
		asks(1, "nobody had one lately")
		s.refuses = always
		time.Sleep(30 * time.Second)
		before := s.asked
		if err := table.Ping(t.Context()); !errors.Is(err, errFull) || s.asked != before+16 {
			t.Errorf("it refuses: %v, and %d locks were asked for, want all", err, s.asked-before)
		}
		s.refuses = never
		time.Sleep(time.Second)
		asks(16, "it refuses no more")
	})
}

// A store that is too slow for all of the try is judged by what it has said.
func TestSlowStore(t *testing.T) {
	for _, tt := range []struct {
		answers []error
		want    error
	}{
		{answers: []error{nil, nil}},
		{answers: []error{errFull, errFull}, want: errFull},
		{answers: []error{nil, errFull}, want: backend.ErrPartly},
		{want: backend.ErrUnavailable},
	} {
		s := &store{Table: memory.OpenTable(memory.NewRows(), "a"), refuses: always}
		table := willing.New(s, slog.New(slog.DiscardHandler))
		_ = grant(t, table)
		s.refuses = func(n int) error {
			if n -= 2; n < len(tt.answers) {
				return tt.answers[n]
			}
			return errGone
		}
		if err := table.Ping(t.Context()); !errors.Is(err, tt.want) {
			t.Errorf("%v, and then nothing: %v, want %v", tt.answers, err, tt.want)
		}
	}
}

// What has the store be tried, and what says nothing of the kind.
func TestTried(t *testing.T) {
	type call = func(ctx context.Context, table ledger.Table)
	lock := func(ctx context.Context, table ledger.Table) {
		_, _ = table.Swap(ctx, ledger.Swap{Name: "n", Effects: ledger.Effects{Grants: true}})
	}
	for what, tt := range map[string]struct {
		says, ping error
		asks       call
		gaveUp     bool
		tried      bool
	}{
		"a lock without an answer":        {says: errGone, asks: lock, tried: true},
		"a lock that was not sent":        {says: backend.ErrUnreachable, asks: lock, tried: true},
		"what the caller gave up":         {says: errGone, asks: lock, gaveUp: true},
		"one that says itself what it is": {says: errFull, ping: errGone, asks: lock},
		"a place in the queue": {says: errFull, tried: true, asks: func(ctx context.Context, table ledger.Table) {
			_, _ = table.Join(ctx, "n", ledger.Entry{}, 0)
		}},
		"a look without an answer": {says: errGone, tried: true, asks: func(ctx context.Context, table ledger.Table) {
			_, _ = table.Look(ctx, "n")
		}},
		"a renewal without an answer": {says: errGone, tried: true, asks: func(ctx context.Context, table ledger.Table) {
			_, _ = table.Renew(ctx, []ledger.Renewal{{Name: "n"}})
		}},
		"what is not held": {says: backend.ErrNotHeld, asks: func(ctx context.Context, table ledger.Table) {
			_, _ = table.Renew(ctx, []ledger.Renewal{{Name: "n"}})
		}},
	} {
		s := &store{Table: memory.OpenTable(memory.NewRows(), "a"), refuses: never, ping: tt.ping}
		table := willing.New(s, slog.New(slog.DiscardHandler))
		if err := grant(t, table); err != nil { // else it is tried whatever comes
			t.Fatal(err)
		}
		s.refuses = func(int) error { return tt.says }
		ctx, giveUp := context.WithCancel(t.Context())
		if tt.gaveUp {
			giveUp()
		}
		tt.asks(ctx, table)
		giveUp()
		before := s.asked
		s.refuses = never
		if err := table.Ping(t.Context()); !errors.Is(err, tt.ping) {
			t.Errorf("%s: %v, want %v", what, err, tt.ping)
		}
		if (s.asked > before) != tt.tried {
			t.Errorf("%s: %d locks were asked for", what, s.asked-before)
		}
	}
}

// A store that has an answer to Ping alone, as a database of which somebody has locked a table, does
// not serve.
func TestWritesWait(t *testing.T) {
	s := &store{Table: memory.OpenTable(memory.NewRows(), "a"), refuses: func(int) error { return errGone }}
	table := willing.New(s, slog.New(slog.DiscardHandler))
	_ = grant(t, table)
	if err := table.Ping(t.Context()); !errors.Is(err, errGone) {
		t.Errorf("Ping says %v, want %v", err, errGone)
	}
}
