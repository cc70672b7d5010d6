package peer

import "testing"

// At every limit there is something for everybody, and never more than there is.
func TestShares(t *testing.T) {
	for _, limit := range []uint64{64, 120, 256, 1024, 4096, 262_144, 1 << 40, ^uint64(0)} {
		s := sharesOf(limit)
		if s.room < 4 || s.unknown < 4 || s.common <= s.unknown || s.clients <= s.common || s.self < 8 {
			t.Errorf("limit %d: %+v, want something for everybody", limit, s)
		}
		if s.self+s.clients+s.room > s.end || uint64(s.end) > limit-min(1024, limit/4) {
			t.Errorf("limit %d: %+v, want a quarter or 1,024 left for the store", limit, s)
		}
	}
}
