package postgres

import (
	"bytes"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

const seedRecord = `{"v":1,"base":0,"top":64,"holds":[{"node":"a","count":1,"id":1,"block":1}],"queue":[{"node":"b","want":1}]}`

// stepOn: what was read can be stepped on without harm.
func stepOn(r ledger.Reply) {
	for _, v := range []ledger.Verb{ledger.Sync, ledger.Leave, ledger.Pass, ledger.Reclaim} {
		ledger.Step(r.Record, ledger.Op{Verb: v, Node: "me", Want: 1, Turns: 64, Lapse: true, TTL: time.Second, OfferTTL: time.Second}, 0)
	}
}

// Whatever a row has, it is read or refused. Columns end with a NUL; one that is "NULL" is none.
func FuzzRow(f *testing.F) {
	for _, s := range []string{
		"", "t\x00t\x00NULL\x00NULL\x00{}\x00{}\x001", "t\x00f\x007\x00" + seedRecord + "\x00{1}\x00{1795192571579323}\x001795192571579323",
		"t\x00t\x007\x00" + seedRecord + "\x00{1,2}\x00{1}\x001", "t\x00t\x007\x00{}\x00{\x00}\x001", "tt\x00\x00x\x00y\x00{a}\x00{,}\x00-",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		columns := bytes.Split(b, []byte{0})
		for i, c := range columns {
			if string(c) == "NULL" {
				columns[i] = nil
			}
		}
		a, err := readAnswer(sqltable.Rows{columns})
		_, _ = readUnheard(sqltable.Rows{columns})
		if err != nil {
			return
		}
		r, err := a.reply("nightly")
		if err != nil {
			return
		}
		if r.Version == "" && len(r.Record.Holds) > 0 {
			t.Errorf("%q has holds and no version: %+v", b, r)
		}
		stepOn(r)
	})
}

// Whoever may connect to the database can send a message.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{
		"", "1", "1 1 ", "1 -1 a", "99 1 a", ledger.Heading(ledger.Tell, "a b") + " {}", ledger.Heading(ledger.Told, "a") + " text",
		ledger.Heading(ledger.Look, "nightly") + ` {"Version":7,"Clock":1795192571579323,"IDs":[1],"Ends":[1795192571579323],"Record":` + seedRecord + `}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		m, ok := parseMessage(payload, "me")
		if !ok {
			return
		}
		if m.Name == "" || m.Node != "me" || len(m.Text) > ledger.MaxText {
			t.Errorf("%q is %+v", payload, m)
		}
		if m.Reply != nil {
			stepOn(*m.Reply)
		}
	})
}
