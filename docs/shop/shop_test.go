package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lockgwPath is the program that the tests start; TestMain builds it, once.
var lockgwPath string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "shop-test-")
	if err != nil {
		panic(err)
	}
	lockgwPath = filepath.Join(dir, "lockgw")
	if err := build(context.Background(), lockgwPath, buildFlags...); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func open(t *testing.T, gateways int) *mall {
	t.Helper()
	m, err := openMall(t.Context(), gateways, lockgwPath)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// Were this to pass by luck, the exactness with the lock would say nothing.
func TestWithoutLockItOversells(t *testing.T) {
	m := open(t, 0)
	const stock, callers = 300, 20
	for name, locks := range map[string][]lock{
		"no lock":                 noLocks(callers),
		"a mutex in each process": mutexes(callers, 2),
	} {
		r, err := m.sell(t.Context(), stock, locks)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.lost() == 0 || r.twice() == 0 || r.oversold() == 0 || r.crowd < 2 {
			t.Errorf("%s: lost %d, sold twice %d, oversold %d, inside at once %d; want violations of each kind",
				name, r.lost(), r.twice(), r.oversold(), r.crowd)
		}
	}
}

// One mutex for all callers is what a lock has to be as good as.
func TestOneProcessNeedsNoGateway(t *testing.T) {
	const stock = 300
	r, err := open(t, 0).sell(t.Context(), stock, mutexes(20, 1))
	if err != nil {
		t.Fatal(err)
	}
	checkExact(t, r, stock)
}

func TestWithLockItIsExact(t *testing.T) {
	m := open(t, 2)
	const stock = 300
	r, err := m.sell(t.Context(), stock, m.locks(20))
	if err != nil {
		t.Fatal(err)
	}
	checkExact(t, r, stock)
	if !r.fenced() || !r.fencesInOrder() {
		t.Errorf("fences in the order of the sales = %v, want larger ones for later sales: %v", r.fencesInOrder(), r.sales)
	}
}

func TestLateWriteIsRefusedByItsFence(t *testing.T) {
	l, err := open(t, 2).lateWrite(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if l.second <= l.first {
		t.Errorf("fence of the later grant = %d, want more than %d", l.second, l.first)
	}
	if want := (late{first: l.first, second: l.second, plain: true, fenced: false, checked: true}); l != want {
		t.Errorf("late write = %+v, want %+v", l, want)
	}
}

func TestTell(t *testing.T) {
	var out strings.Builder
	if err := tell(t.Context(), &out, options{stock: 40, callers: 8, gateways: 2, lockgw: lockgwPath}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no lock", "a mutex in each process", "lockgw  ", "true", "was refused"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the story does not say %q:\n%s", want, out.String())
		}
	}
}

func TestTellRefusesNothing(t *testing.T) {
	for _, o := range []options{
		{stock: 0, callers: 1, gateways: 1},
		{stock: 1, callers: 0, gateways: 1},
		{stock: 1, callers: 1, gateways: 0},
		{stock: 1, callers: 1, gateways: -1},
	} {
		if err := tell(t.Context(), &strings.Builder{}, o); err == nil {
			t.Errorf("tell(%+v) = nil, want an error", o)
		}
	}
}

func checkExact(t *testing.T, r result, stock int) {
	t.Helper()
	if len(r.sales) != stock || r.left != 0 || r.lost() != 0 || r.twice() != 0 || r.crowd != 1 {
		t.Errorf("sold %d, left %d, lost %d, sold twice %d, inside at once %d; want %d, 0, 0, 0, 1",
			len(r.sales), r.left, r.lost(), r.twice(), r.crowd, stock)
	}
}
