package main

import (
	"fmt"
	"testing"
)

// decrements that the acceptance test makes, and by how many callers.
const (
	decrements      = 20_000
	decrementsShort = 2_000
	decrementers    = 60
)

// Many callers on two and on three gateways over one Redis, half of them over
// HTTP and half over the socket: no decrement is lost, nothing is oversold, nobody
// meets another inside, and every later grant has a larger fence.
func TestAcceptance(t *testing.T) {
	stock := decrements
	if testing.Short() || raceEnabled {
		stock = decrementsShort
	}
	for _, gateways := range []int{2, 3} {
		t.Run(fmt.Sprintf("%d gateways", gateways), func(t *testing.T) {
			m := open(t, gateways)
			r, err := m.sell(t.Context(), stock, m.locks(decrementers))
			if err != nil {
				t.Fatal(err)
			}
			checkExact(t, r, stock)
			if !r.fenced() || !r.fencesInOrder() {
				t.Errorf("fences in the order of the decrements = %v, want true", r.fencesInOrder())
			}
			t.Logf("%d decrements by %d callers on %d gateways in %v", stock, decrementers, gateways, r.took)
		})
	}
}
