package backend

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 10 * together
		var calls [n]int
		begun := time.Now()
		if err := Each(n, func(i int) error {
			time.Sleep(time.Second)
			calls[i]++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for i, c := range calls {
			if c != 1 {
				t.Errorf("%d was called %d times, want once", i, c)
			}
		}
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("it took %v, want %d at once and so 10 s", took, together)
		}
		var after atomic.Int64
		wrong := errors.New("wrong")
		if err := Each(n, func(i int) error {
			time.Sleep(time.Second)
			after.Add(1)
			return wrong
		}); !errors.Is(err, wrong) || after.Load() != together {
			t.Errorf("Each = %v after %d calls, want the error and no call after those under way", err, after.Load())
		}
		if err := Each(0, nil); err != nil {
			t.Error(err)
		}
	})
}
