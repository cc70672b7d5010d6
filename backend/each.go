package backend

import (
	"sync"
	"sync/atomic"
)

// together is how many requests of one Each are under way at once: enough for a store
// that answers many in one batch, and no more than leaves others their turn.
const together = 64

// Each calls f for 0 to n-1, several at once, and returns the first error that it has
// met; after one it begins no other call.
func Each(n int, f func(i int) error) error {
	var (
		wg     sync.WaitGroup
		next   atomic.Int64
		failed atomic.Pointer[error]
	)
	for range min(n, together) {
		wg.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(i); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
