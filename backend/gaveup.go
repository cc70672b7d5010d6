package backend

import (
	"context"
	"errors"
	"time"
)

// patience is how long a store may take before a caller's deadline that ends the wait says
// something about the store.
const patience = 500 * time.Millisecond

// GaveUp says that the caller of a request that began then gave it up, or had no time for it. That it had no
// answer says nothing about the store.
func GaveUp(ctx context.Context, began time.Time) bool {
	err := ctx.Err()
	return errors.Is(err, context.Canceled) || err != nil && time.Since(began) < patience
}
