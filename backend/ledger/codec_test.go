package ledger

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
)

func TestCodec(t *testing.T) {
	r := Record{
		Size: 3, Top: 200, Vote: "8.a 7.b 7.b",
		Holds: []Hold{
			{Node: "a", Mode: 3, Count: 2, ID: 7, Block: 71, Callers: []Caller{{Owner: "u:1", Entries: 2, Fence: 9, About: `{"note":"a \"b\""}`}}, At: 1795193753498620},
			{Node: "b", Mode: 3, Count: 1, Offered: true, ID: 199},
		},
		Queue: []Entry{{Node: "c", Mode: 3, Want: 2, Suspect: true, Waiters: 4, At: 1795193753498621}, {Node: "d", Mode: 3, Want: 1, Since: 12}},
	}
	b := Encode(r)
	if got, err := Decode(b); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%s\nis read as %+v, %v\nwant %+v", b, got, err, r)
	}
}

// A field that Encode forgets, or spells in another way, is one that other gateways do not know.
func TestEncodedAsByTheLibrary(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var r Record
		fill(rng, reflect.ValueOf(&r).Elem())
		r.Size = max(r.Size, 0)
		for i := range r.Holds {
			r.Holds[i].ID = max(r.Holds[i].ID, 1)
		}
		want, err := json.Marshal(encoded{Format: format, Record: r})
		if err != nil {
			t.Fatal(err)
		}
		if got := Encode(r); string(got) != string(want) {
			t.Fatalf("encoded\n got %s\nwant %s", got, want)
		}
	}
}

// fill sets each field to something, or leaves it empty.
func fill(rng *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(rng, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rng.IntN(3), 3))
		for i := range v.Len() {
			fill(rng, v.Index(i))
		}
	case reflect.String:
		v.SetString([]string{"", "a", `{"a":"b"}`, "<é>", "\n"}[rng.IntN(5)])
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, 1795192571579260}[rng.IntN(4)])
	case reflect.Uint64:
		v.SetUint([]uint64{0, 1, 1795192571579260}[rng.IntN(3)])
	default:
		panic("fill knows no " + v.Type().String())
	}
}

func TestEncodeLeavesOutsidersOut(t *testing.T) {
	r := Record{Top: 5, Holds: []Hold{{Mode: backend.Exclusive, Count: 1}, {Node: "a", Count: 1, ID: 4}}}
	b := Encode(r)
	if got, err := Decode(b); err != nil || len(got.Holds) != 1 || got.Holds[0].Node != "a" {
		t.Errorf("%s is read as %+v, %v", b, got, err)
	}
	if len(r.Holds) != 2 {
		t.Errorf("Encode has changed what it was given: %+v", r)
	}
}

func TestDecodeAddsTheBase(t *testing.T) {
	got, err := Decode([]byte(`{"v":1,"base":1000,"top":64,"holds":[{"node":"a","count":1,"id":1,"block":1}]}`))
	if err != nil || got.Top != 1064 || got.Holds[0].ID != 1001 || got.Holds[0].Block != 1001 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for text, why := range map[string]string{
		``:                                 "not a record",
		`[]`:                               "not a record",
		`{"v":1,"top":4,"vote":7}`:         "not a record",
		`{"top":4}`:                        "names no version",
		`{"v":2,"top":4}`:                  "version 2",
		`{"v":1,"top":100000000000000000}`: "2^53",
		`{"v":1,"top":4,"holds":[{"node":"a","count":1,"id":5}]}`:                                                             "above the newest",
		`{"v":1,"top":4,"holds":[{"node":"a","count":0,"id":3}]}`:                                                             "of 0",
		`{"v":1,"top":4,"holds":[{"node":"a","count":1,"id":3},{"node":"a","count":1,"id":2}]}`:                               "holds twice",
		`{"v":1,"top":4,"queue":[{"node":"a","want":1},{"node":"a","want":1}]}`:                                               "waits twice",
		`{"v":1,"top":4,"queue":[{"node":"a","want":0}]}`:                                                                     "for nothing",
		`{"v":1,"top":4,"queue":[{"node":"","want":1}]}`:                                                                      "for nothing",
		`{"v":1,"top":4,"holds":[{"node":"a","count":1}]}`:                                                                    "hold 0",
		`{"v":1,"top":4,"holds":[{"node":"a","count":1,"id":4,"block":5}]}`:                                                   "above the newest",
		`{"v":1,"top":4,"holds":[{"node":"a","offered":true,"count":1,"id":3},{"node":"a","offered":true,"count":1,"id":2}]}`: "holds twice",
	} {
		if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", text, err, why)
		}
	}
}

// What Step makes is read, however close it comes to what is refused.
func TestDecodeTakes(t *testing.T) {
	for _, text := range []string{
		`{"v":1,"top":9007199254740992}`,
		`{"v":1,"top":4,"holds":[{"node":"a","count":1,"id":4,"block":4}]}`,
		`{"v":1,"top":4,"holds":[{"node":"a","count":1,"id":1},{"node":"a","offered":true,"count":1,"id":2}]}`,
		`{"v":1,"top":4,"holds":[{"node":"","count":1,"id":1},{"node":"","count":1,"id":2}]}`, // broken twice, and kept from all
	} {
		if _, err := Decode([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"base":0,"top":64,"holds":[{"node":"a","count":1,"id":1,"block":1}],"queue":[{"node":"b","want":1}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			return
		}
		again := Encode(r)
		if got, err := Decode(again); err != nil || !got.Same(&r) {
			t.Errorf("%q is %+v, written %q and read as %+v, %v", b, r, again, got, err)
		}
		// What was read can be stepped on without harm.
		Step(r, Op{Verb: Sync, Node: "me", Want: 1, Turns: 64, Lapse: true, TTL: 1, OfferTTL: 1}, 0)
	})
}

func BenchmarkCodec(b *testing.B) {
	r := Record{Top: 1795192571579323, Holds: []Hold{{Node: "5f1c3c9e-2a41-4a0e-9d38-5a0a3b1f7f10", Count: 1, ID: 1795192571579260, Block: 1795192571579260,
		Callers: []Caller{{Owner: "99e00d47-46d5-486b-93dc-ca0053d33ea2:1", Entries: 1, Fence: 1795192571579261, About: `{"pid":21590,"command":"backup.sh"}`}}}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(Encode(r)); err != nil {
			b.Fatal(err)
		}
	}
}
