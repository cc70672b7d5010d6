package etcd

import (
	"math"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// A lease is gone when etcd does not know it: one that has expired and was not revoked yet lives on
// under the next leader.
func TestExpiry(t *testing.T) {
	for _, c := range []struct {
		name         string
		ttl, granted int64
		gone         bool
		left         time.Duration
	}{
		{"alive", 7, 10, false, 8 * time.Second},
		{"expired, and not revoked", -3, 10, false, time.Second},
		{"of a leader that has just begun", math.MaxInt64 / 1_000_000_000, 10, false, 11 * time.Second},
		{"unknown", -1, 0, true, 0},
	} {
		before := now()
		x := expiryOf(&clientv3.LeaseTimeToLiveResponse{TTL: c.ttl, GrantedTTL: c.granted})
		if x.gone != c.gone || !c.gone && (x.at < before+c.left || x.at > now()+c.left) {
			t.Errorf("%s: %+v", c.name, x)
		}
	}
}
