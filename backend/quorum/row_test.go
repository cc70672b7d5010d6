package quorum

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

const seedRecord = `{"v":1,"base":0,"top":64,"holds":[{"node":"a","count":1,"id":1,"block":1}],"queue":[{"node":"b","want":1}]}`

var seedRows = []string{
	"", "1 - -\n" + seedRecord, "1 1=7fffffffffffffff:30000 -\n" + seedRecord, "1 1~1795192571579323:1000,2=1f:9 8@1=1f:9\n" + seedRecord,
	"1 1=:1 -\n{}", "2 - -\n{}", "1  \n", "1 1~-1:-1 -\n" + seedRecord, "1 1=ABC7:30000:2500 8.5@1=ABC7:9\n" + seedRecord,
}

// Whatever is stored under a name, it is read or refused, and says the same when it is written.
func FuzzRow(f *testing.F) {
	for _, s := range seedRows {
		f.Add(s, int64(7))
	}
	f.Fuzz(func(t *testing.T, value string, _ int64) {
		r, err := Decode(value)
		if err != nil {
			return
		}
		r.text = "" // it is written anew
		text := r.Text()
		again, err := Decode(text)
		if err != nil || again.Version("x") != r.Version("x") || !again.Record.Same(&r.Record) {
			t.Errorf("%q is %+v, written %q and read as %+v, %v", value, r, text, again, err)
		}
		if r.Kept == "" {
			if at, es, err := ParseVersion(r.Version("7.1")); err != nil || at != "7.1" || es.String() != r.Ends.String() {
				t.Errorf("the version %q of %q is read as %v, %v, %v", r.Version("7.1"), value, at, es, err)
			}
		}
		for _, v := range []ledger.Verb{ledger.Sync, ledger.Leave, ledger.Pass, ledger.Reclaim} { // without harm
			ledger.Step(r.Record, ledger.Op{Verb: v, Node: "me", Want: 1, Turns: 64, Lapse: true, TTL: time.Second, OfferTTL: time.Second}, 0)
		}
	})
}

func TestVersion(t *testing.T) {
	r := Row{Ends: Ends{{ID: 7, TTL: 30 * time.Second, Under: "ABC7", Spare: 2500 * time.Millisecond}, {ID: 8, TTL: time.Second, Until: -5}, {ID: 9}, {ID: 10, TTL: time.Second, Under: "1f"}}}
	v := r.Version("17.5")
	if !strings.HasPrefix(string(v), "17.5#") || !strings.HasSuffix(string(v), "@7=ABC7:30000:2500,8~-5:1000,9~0:0,10=1f:1000") {
		t.Errorf("version %s", v)
	}
	other := Row{Ends: r.Ends, Record: ledger.Record{Top: 1}}
	if other.Version("17.5") == v {
		t.Errorf("two records at the same place have the version %s", v)
	}
	text := r.Text()
	if read, err := Decode(text); err != nil || read.Version("17.5") != v {
		t.Errorf("written and read, it has the version %s and not %s, %v", read.Version("17.5"), v, err)
	}
	if at, es, err := ParseVersion(r.Version("17.5")); err != nil || at != "17.5" || es.String() != r.Ends.String() {
		t.Errorf("read as %v, %v, %v", at, es, err)
	}
	for _, bad := range []string{"5", "@", "1#0@x", "1#0@7=a/b:1", "1#0@7=:1", "1#0@7~1", "1#0@7~1:1:1", "1#0@7~1:-1", "1#0@7=a:1:1:1", "1#0@7=a", "1@7=a:1", "#0@"} {
		if _, _, err := ParseVersion(ledger.Version(bad)); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("%q is read as a version: %v", bad, err)
		}
	}
}

// Each hold of a swap ends as it did, or as it begins: under what its node has, or by clocks.
func TestSwapped(t *testing.T) {
	record := ledger.Record{Top: 9, Holds: []ledger.Hold{
		{Node: "other", ID: 1, Count: 1}, {Node: "me", ID: 2, Count: 1}, {Node: "next", ID: 3, Count: 1, Offered: true}, {Node: "gone", ID: 4, Count: 1},
	}}
	was := Ends{{ID: 1, TTL: time.Minute, Under: "o"}, {ID: 2, TTL: time.Second, Until: 7}}
	swap := ledger.Swap{Base: "5@", Record: record, Effects: ledger.Effects{Stamps: []ledger.Stamp{{ID: 2, TTL: time.Hour}, {ID: 3, TTL: time.Second}}}}
	own := func(ttl time.Duration) (End, error) { return End{TTL: ttl, Under: "m"}, nil }
	begin := Clock()
	r, err := Swapped(&swap, was, "me", 0, own)
	if err != nil || len(r.Ends) != 3 || r.Ends[0] != was[0] || r.Ends[1] != (End{ID: 2, TTL: time.Hour, Under: "m"}) {
		t.Fatalf("%v, %v", r.Ends, err)
	}
	if e := r.Ends[2]; e.ID != 3 || e.Under != "" || e.TTL != time.Second || e.Until < begin+time.Second.Microseconds() {
		t.Errorf("the offer ends by %+v", e)
	}
	if _, err := Swapped(&swap, was, "other", 0, own); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("a lease began of another node: %v", err)
	}
	swap.Base = ""
	ahead := backend.Fence(Clock()) + 1<<40
	for _, floors := range [][2]backend.Fence{{ahead, 0}, {0, ahead}} {
		swap.Floor = floors[1]
		if r, err := Swapped(&swap, nil, "me", floors[0], own); err != nil || r.Record.Top != ahead+9 || len(r.Ends) != 2 || r.Ends[0].ID != ahead+2 {
			t.Errorf("a new record above %v: %+v, %v", floors, r, err)
		}
	}
}

// A hold that ends by clocks lasts for its ttl from when it was seen first, however wrong the
// clock of who wrote it is; one that is over for long by that is over.
func TestClocks(t *testing.T) {
	var c Clocks
	ahead := End{ID: 1, TTL: time.Minute, Until: Clock() + time.Hour.Microseconds()}
	behind := End{ID: 2, TTL: time.Minute, Until: Clock() - (30 * time.Second).Microseconds()}
	for _, tt := range []struct {
		e           End
		least, most time.Duration
	}{
		{ahead, 50 * time.Second, time.Minute},
		{behind, 10 * time.Second, 30 * time.Second},
		{End{ID: 3, TTL: time.Minute, Until: Clock() - time.Hour.Microseconds()}, -time.Hour, 0},
		{End{ID: 4, Until: Clock() + time.Hour.Microseconds()}, 0, 0},
	} {
		if left := c.Left("n", tt.e); left < tt.least || left > tt.most {
			t.Errorf("%+v lasts for %v, want from %v to %v", tt.e, left, tt.least, tt.most)
		}
	}
	before := c.Left("n", ahead)
	if again := c.Left("n", ahead); again > before {
		t.Errorf("it lasted for %v, and now for %v", before, again)
	}
}

// What somebody else has put in the place of a record is told with what to do about it.
func TestNoRecord(t *testing.T) {
	_, err := Decode("junk")
	if err == nil || !strings.Contains(err.Error(), "update this gateway if a newer one has written it, else delete it") {
		t.Errorf("err = %v, want what to do", err)
	}
}
