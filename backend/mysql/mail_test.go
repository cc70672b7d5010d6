package mysql

import "testing"

// Who comes while a KILL is on its way sends none, and another one follows for it.
func TestRings(t *testing.T) {
	var r rings
	if !r.begin(7) || r.begin(7) || r.begin(7) || !r.begin(8) {
		t.Fatal("two at a time for one thread, or none for another one")
	}
	if !r.again(7) || r.again(7) || r.again(8) {
		t.Error("those who came meanwhile need one more, and nobody else does")
	}
	if !r.begin(7) {
		t.Error("nobody may ring any more")
	}
	if r.end(7); !r.begin(7) {
		t.Error("who rings on does so for itself alone")
	}
}
