package zookeeper

import "testing"

// A hold that is renewed while it is written down as over is not forgotten: nobody would write down
// that it is over when it is.
func TestRenewedWhileGivenUp(t *testing.T) {
	var s stakes
	k := stakeKey{"n", 1}
	s.claim(k.name, k.id, 10)
	if due := s.due(20); len(due) != 1 || due[0] != k || !s.over(k, 20) {
		t.Fatalf("of a hold until 10 at 20: %v", due)
	}
	if s.prolong(k.name, k.id, 50) {
		t.Error("it need not be written anew")
	}
	s.gaveUp(k, 20)
	if due := s.due(60); len(due) != 1 || due[0] != k {
		t.Errorf("renewed until 50, at 60: %v", due)
	}
	s.gaveUp(k, 60)
	if s.any() {
		t.Error("what is over is not forgotten")
	}
}
