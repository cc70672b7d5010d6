package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"
	"time"
)

// A field that the encoding forgets, or spells in another way, is one that the next
// process does not know.
func TestEncodedAsByTheLibrary(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 1000 {
		var r record
		fill(rng, reflect.ValueOf(&r).Elem())
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.encode([]byte("before")); string(got) != "before"+string(want) {
			t.Fatalf("encoded\n got %s\nwant before%s", got, want)
		}
	}
}

var texts = []string{"", "", "a", "orders/7", `"`, `\`, "<&>", "é", "\xff", "a\nb", "\x7f", "\u2028", " "}

// fill sets each field that is in the file to something, or leaves it empty.
func fill(rng *rand.Rand, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(day.Add(time.Duration(rng.Int64N(1 << 40))).In(time.FixedZone("", 60*rng.IntN(600)))))
		return
	case []byte:
		v.SetBytes([]byte(texts[rng.IntN(len(texts))]))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fill(rng, v.Field(i))
			}
		}
	case reflect.Pointer:
		if rng.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(rng, v.Elem())
		}
	case reflect.String:
		v.SetString(texts[rng.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, rng.Int64()}[rng.IntN(4)])
	case reflect.Uint64:
		v.SetUint([]uint64{0, 1, rng.Uint64()}[rng.IntN(3)])
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"a": texts[rng.IntN(len(texts))], texts[rng.IntN(len(texts))]: "b"}))
	default:
		panic("fill knows no " + v.Type().String())
	}
}

// story tells a journal of everything that can happen.
func story(j *Journal) {
	k, kept, slot := Key{Name: "orders/7"}, Key{Name: "käse <&> \"x\""}, Key{Name: "queue", Slot: "12"}
	for i, life := range []Life{Keepalive, Connection, Process, MaxHold} {
		s := client(fmt.Sprint("s", i))
		s.Life, s.Name, s.PeerPID, s.PeerUID, s.Command = life, "näme", 4411, i, "backup.sh"
		s.TTL, s.MaxHold, s.OneLock, s.Conns = time.Second, time.Hour, i == 3, i == 1
		s.PID, s.Started = 4411*i, time.Duration(i)*time.Minute
		j.Opened(s)
	}
	granted := Answer{Key: "k1", What: "acquire", At: day, Name: k.Name, Thread: 1, Fence: 1 << 60, New: true}
	j.Wants(k)
	j.Told(k, turn("s0", 1<<60), &granted)
	j.Entries(k, "s0", 3, &Answer{Key: "k2", What: "release", At: day, Name: k.Name, Thread: 1, Count: 3})
	j.Deadline(k, 90*time.Minute)
	j.Told(kept, Turn{
		Session: "s1", Thread: -2, Hold: 7, Fence: 8, Count: 1, TTL: time.Second, Fixed: true,
		MaxHoldAt: time.Hour, KeepUntil: time.Minute, Deadline: time.Hour, Note: "a\tnote", Since: day,
	}, nil)
	j.Kept(kept, "s1", "uuid-s1:-2", nil)
	j.Wants(slot)
	j.Told(slot, turn("s2", 9), nil)
	j.Released(slot, "s2", nil)
	j.Told(slot, turn("s3", 10), nil)
	j.Lost(slot, "s3", Lost{Name: slot.Name, Thread: 1, Fence: 10, Reason: "expired"})
	j.Spent("s3")
	j.Answered("s2", Answer{Key: "k3", What: "acquire", At: day, Name: "x", Code: "locked", Detail: "another holds the lock"})
	j.Answered("s2", Answer{Key: "k4", What: "acquire", At: day})
	j.Unanswered("s2", "k4")
	j.Wants(Key{Name: "gone"})
	j.Idle(Key{Name: "gone"})
	j.Opened(client("s4"))
	j.Closed("s4")
}

// afterNode is the file b but for its first record.
func afterNode(b []byte) []byte {
	b = b[len(header):]
	return b[prefix+binary.LittleEndian.Uint32(b):]
}

// A gateway that is upgraded knows what the version before has written, and one that
// is taken back knows what this one has written: testdata/journal was written by the
// first version that had a journal, told of the same story. Its first record, of the node, has a
// number of the process, too, which nobody needs.
func TestFileOfTheFirstVersion(t *testing.T) {
	old, err := os.ReadFile("testdata/journal")
	if err != nil {
		t.Fatal(err)
	}
	j, _ := open(t, t.TempDir())
	j.state.Node, j.state.Boot, j.state.Secret = "node-1", "boot-1", []byte("secret")
	if err := j.rewrite(); err != nil {
		t.Fatal(err)
	}
	story(j)
	if now := written(t, j); !bytes.Equal(afterNode(now), afterNode(old)) {
		t.Errorf("the same story is written as\n%q\nwant\n%q", now, old)
	}
	was, err := read(old)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(was, j.state) {
		t.Errorf("what the first version has written:\n got %+v\nwant %+v", was, j.state)
	}
}
