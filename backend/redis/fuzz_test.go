package redis

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

const (
	seedHead   = "0123456789012345678901 0000000000000064 1795192571579 "
	seedRecord = `{"v":1,"base":0,"top":64,"holds":[{"node":"a","count":1,"id":1,"block":1}],"queue":[{"node":"b","want":1}]}`
)

var seedStored = []string{
	"", "\n", seedHead + "000 1=1795192571579", seedHead + "000 1=1795192571579\n" + seedRecord,
	seedHead + "004 @a:1 1=1795192571579\n" + seedRecord + "\n" + `{"node":"c","want":1}` + "\n" + `{"node":"c","want":1}`,
	seedHead + "999 1=9 2?8\n" + seedRecord, seedHead + "000 =1 ?2 1= 18446744073709551616=1\n" + seedRecord + "\n{}",
}

// step: what was read can be stepped on without harm.
func step(r ledger.Reply) {
	for _, v := range []ledger.Verb{ledger.Sync, ledger.Leave, ledger.Pass, ledger.Reclaim} {
		ledger.Step(r.Record, ledger.Op{Verb: v, Node: "me", Want: 1, Turns: 64, Lapse: true, TTL: time.Second, OfferTTL: time.Second}, 0)
	}
}

// Whatever Redis answers, it is read or refused.
func FuzzThere(f *testing.F) {
	for i, text := range seedStored {
		f.Add(text, "1795192571", "579323", int64(i%3), int64(i*1000-1), "owner:1", int64(i-1), "12", "1")
	}
	f.Fuzz(func(t *testing.T, text, seconds, us string, state, left int64, owner string, count int64, fence, other string) {
		a := conn.Reply{"is", text, seconds, us, state, left, owner, count, fence, "seen", other}
		for n := range len(a) + 1 {
			r, err := readThere(a[:n], time.Second)
			if err != nil {
				continue
			}
			if n == len(a) && state != lockForeign && r.Record.Top > 0 && r.Version == "" {
				t.Errorf("%q is a record without a version: %+v", text, r)
			}
			step(r)
		}
	})
}

// Anybody who may publish can send a message.
func FuzzMessage(f *testing.F) {
	for _, text := range seedStored {
		f.Add(fmt.Sprintf("1 7 nightly 1795192571 579323 %s", text))
	}
	for _, text := range []string{"", "1", "1 1 ", "1 -1 a", "99 1 a", ledger.Heading(ledger.Tell, "a b") + " {}", ledger.Heading(ledger.Told, "a") + " text"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		m, ok := ParseMessage(payload, "me")
		if !ok {
			return
		}
		if m.Name == "" || m.Node != "me" || len(m.Text) > ledger.MaxText {
			t.Errorf("%q is %+v", payload, m)
		}
		if m.Reply != nil {
			step(*m.Reply)
		}
	})
}
