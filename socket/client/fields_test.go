package client

import (
	"testing"
	"time"
)

func TestSilentInStatus(t *testing.T) {
	st := fields{"silent": []any{map[string]any{"node": "host-b", "as_of": "2026-01-02T03:04:05Z"}, map[string]any{"node": nil, "as_of": nil}}}.status()
	if len(st.Silent) != 2 || st.Silent[0] != (Silent{"host-b", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}) || st.Silent[1] != (Silent{}) {
		t.Errorf("silent = %+v", st.Silent)
	}
}
