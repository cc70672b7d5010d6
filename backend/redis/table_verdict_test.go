package redis

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// When to ask again counts from the refusal, and not from when the server was looked at.
func TestVerdictSaysWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := untrusted("id", &backend.Later{Err: fmt.Errorf("%w: a quarantine", backend.ErrRefused), After: 10 * time.Second})
		time.Sleep(rest / 2)
		later, ok := errors.AsType[*backend.Later](v.refuses())
		if !ok || later.After != 10*time.Second-rest/2 || !errors.Is(later, backend.ErrRefused) || !v.fresh() {
			t.Errorf("refuses = %v, in %v, fresh %v", later, later.After, v.fresh())
		}
		if time.Sleep(rest / 2); v.fresh() {
			t.Error("it is believed in for too long")
		}
	})
}
