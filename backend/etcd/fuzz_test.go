package etcd

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
)

const seedRecord = `{"v":1,"base":0,"top":64,"holds":[{"node":"a","count":1,"id":1,"block":1}],"queue":[{"node":"b","want":1}]}`

var seedRows = []string{
	"", "1 - -\n" + seedRecord, "1 1=7fffffffffffffff:30000 -\n" + seedRecord, "1 1~1795192571579323:1000,2=1f:9 8@1=1f:9\n" + seedRecord,
	"1 1=:1 -\n{}", "2 - -\n{}", "1  \n", "1 1~-1:-1 -\n" + seedRecord,
}

// step: what was read can be stepped on without harm.
func step(r ledger.Record) {
	for _, v := range []ledger.Verb{ledger.Sync, ledger.Leave, ledger.Pass, ledger.Reclaim} {
		ledger.Step(r, ledger.Op{Verb: v, Node: "me", Want: 1, Turns: 64, Lapse: true, TTL: time.Second, OfferTTL: time.Second}, 0)
	}
}

// Whoever may write the key of a node can forge a letter.
func FuzzLetter(f *testing.F) {
	for i, s := range seedRows {
		ls := letters([]ledger.Addressed{
			{Name: "nightly", Message: ledger.Message{Node: "me", Kind: ledger.Look}},
			{Name: "a b", Message: ledger.Message{Node: "me", Kind: ledger.Tell, Text: s}},
		}, s)
		f.Add([]byte(ls[0].value), int64(i))
	}
	f.Fuzz(func(t *testing.T, value []byte, rev int64) {
		table := new(Table)
		table.Config.Node.ID = "me"
		for _, m := range table.open(value, rev) {
			if m.Name == "" || m.Node != "me" || len(m.Text) > ledger.MaxText || m.Kind == ledger.Resync {
				t.Errorf("%q is %+v", value, m)
			}
			if m.Reply != nil {
				step(m.Reply.Record)
			}
		}
	})
}
