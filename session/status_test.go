package session

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
)

// A key without an end, of a program outside lockgw, has no lease that could be told.
func TestStatusOfEndlessHold(t *testing.T) {
	for _, endless := range []bool{false, true} {
		s := Status{State: StateFree}
		s.addHold(&ledger.Hold{Count: 1, End: 30 * time.Second, Endless: endless})
		if s.State != StateHeld || (s.TTL == 0) != endless {
			t.Errorf("endless %v: %s for %v more", endless, s.State, s.TTL)
		}
	}
}

// What a record tells of a holder is the holder as JSON, without the owner.
func TestRecordOfAHolder(t *testing.T) {
	at := time.Date(2026, 8, 1, 2, 3, 4, 5000, time.FixedZone("", 3600))
	for _, h := range []Holder{
		{},
		{Peer: NoPeer(), Node: "host-a"},
		{Owner: "u:1", Node: "host-a", Session: "s\"1", Peer: Peer{PID: 7, UID: 1000, Command: "<sh>"}, AskedBy: &Peer{PID: 8, Command: "lockgw"}, Note: "n\u00e9", Since: at},
	} {
		want, err := json.Marshal(struct {
			Owner string `json:"owner,omitempty"`
			Holder
		}{Holder: h})
		if err != nil {
			t.Fatal(err)
		}
		if got := h.record(); got != string(want) {
			t.Errorf("record\n got %s\nwant %s", got, want)
		}
	}
}
