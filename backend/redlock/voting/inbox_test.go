package voting

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
)

// Hints without a record that come from one server after the other are told at once, and
// again when the last of them is there.
func TestHintsOfSeveralServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []time.Time
		tb := &Table{quorum: 2}
		tb.inbox.copies = map[subject]*copies{}
		tb.inbox.tell = func(ledger.Addressed) { told = append(told, time.Now()) }
		begin := time.Now()
		for server := range 3 {
			tb.heard(server, ledger.Addressed{Name: "x", Message: ledger.Message{Node: "n", Kind: ledger.Look}})
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(told) != 2 || told[0] != begin || told[1].Sub(begin) < 2*time.Millisecond {
			t.Errorf("told %d times, want at once and after the last", len(told))
		}
	})
}

// A question, or the answer to one, is passed on once.
func TestTextOfSeveralServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		tb := &Table{quorum: 2}
		tb.inbox.copies = map[subject]*copies{}
		tb.inbox.tell = func(ledger.Addressed) { told++ }
		for server := range 3 {
			tb.heard(server, ledger.Addressed{Name: "x", Message: ledger.Message{Node: "n", Kind: ledger.Tell, Text: "?"}})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if told != 1 {
			t.Errorf("told %d times, want once", told)
		}
	})
}

// That no messages arrive is passed on where so few servers are left that those of a majority may
// reach nobody.
func TestDeafAtServers(t *testing.T) {
	var told []ledger.Kind
	tb := &Table{quorum: 2, tables: make([]ledger.Table, 3)}
	tb.inbox.tell = func(m ledger.Addressed) { told = append(told, m.Kind) }
	for _, says := range []struct {
		server int
		kind   ledger.Kind
		told   bool
	}{
		{0, ledger.Deaf, false},
		{0, ledger.Deaf, false},
		{2, ledger.Deaf, true},
		{0, ledger.Resync, true},
		{2, ledger.Deaf, false},
	} {
		told = nil
		tb.heard(says.server, ledger.Addressed{Message: ledger.Message{Node: "n", Kind: says.kind}})
		if (len(told) == 1 && told[0] == says.kind) != says.told {
			t.Errorf("server %d says %v: %v is told", says.server, says.kind, told)
		}
	}
}
