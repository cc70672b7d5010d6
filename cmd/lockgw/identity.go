package main

import (
	"time"

	"github.com/google/uuid"

	"github.com/lockgw/lockgw/backend"
)

// identity is how the store knows this process. A gateway without a memory of
// its past is a new node at every start, so that it can claim nothing of an
// earlier one; the id that outlives a restart belongs here, read from the state
// directory, with an incarnation larger than the last.
func identity(start time.Time) backend.Node {
	return backend.Node{ID: uuid.NewString(), Incarnation: uint64(start.UnixMicro())}
}
