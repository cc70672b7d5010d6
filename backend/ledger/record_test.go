package ledger

import (
	"reflect"
	"slices"
	"testing"
)

// Two records with a difference in any field are not the same, but for ends, votes and what is
// told to people.
func TestSame(t *testing.T) {
	told := []string{"Last", "Broken", "Vote", "Retains", "Callers", "At", "End", "Endless", "Waiters"}
	one := func() Record {
		return Record{Top: 9, Holds: []Hold{{Node: "a", Count: 1, ID: 3}}, Queue: []Entry{{Node: "b", Want: 1}}}
	}
	differ := func(name string, part func(r *Record) any) {
		for i := range reflect.TypeOf(part(&Record{Holds: []Hold{{}}, Queue: []Entry{{}}})).Elem().NumField() {
			r, o := one(), one()
			v := reflect.ValueOf(part(&o)).Elem()
			field := v.Type().Field(i).Name
			switch f := v.Field(i); f.Kind() {
			case reflect.String:
				f.SetString("other")
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Slice:
				f.Set(reflect.Append(f, reflect.New(f.Type().Elem()).Elem()))
			case reflect.Uint64:
				f.SetUint(f.Uint() + 1)
			default:
				f.SetInt(f.Int() + 1)
			}
			if want := slices.Contains(told, field); r.Same(&o) != want {
				t.Errorf("another %s of a %s: the same %v, want %v", field, name, !want, want)
			}
		}
	}
	differ("record", func(r *Record) any { return r })
	differ("hold", func(r *Record) any { return &r.Holds[0] })
	differ("place in the queue", func(r *Record) any { return &r.Queue[0] })
	h := &Hold{ID: 1}
	if none := (*Hold)(nil); none.Same(h) || h.Same(none) || !none.Same(nil) {
		t.Error("no hold is the same as one, or not as none")
	}
}

// What a record has of a node.
func TestFind(t *testing.T) {
	r := Record{
		Holds: []Hold{{Node: "firm", ID: 1}, {Node: "offered", ID: 2, Offered: true}},
		Queue: []Entry{{Node: "waits"}, {Node: "deaf", Deaf: true}, {Node: "dead", Deaf: true, Suspect: true}},
	}
	for node, want := range map[string]struct{ has, looks bool }{
		"firm": {true, false}, "offered": {true, false}, "waits": {true, false}, "deaf": {true, true}, "dead": {true, false}, "none": {},
	} {
		if r.Has(node) != want.has || r.Looks(node) != want.looks {
			t.Errorf("%s: something of it %v, looks %v, want %+v", node, r.Has(node), r.Looks(node), want)
		}
	}
	if r.Hold(2) != &r.Holds[1] || r.Hold(3) != nil {
		t.Errorf("by fence: %v, %v", r.Hold(2), r.Hold(3))
	}
}

// A new record is counted from the clock of its store: fences, and nothing that stands for none.
func TestRebase(t *testing.T) {
	r := Record{Top: 3, Holds: []Hold{{Node: "a", ID: 1, Block: 1}, {Node: "b", ID: 3, Offered: true}}}
	if r.Rebase(10); r.Top != 13 || r.Holds[0].ID != 11 || r.Holds[0].Block != 11 || r.Holds[1].ID != 13 || r.Holds[1].Block != 0 {
		t.Errorf("rebased: %+v", r)
	}
}
