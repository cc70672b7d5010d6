package journal

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// flood answers n requests of the session.
func flood(j *Journal, session string, n int) {
	long := strings.Repeat("x", 200)
	for i := range n {
		j.Answered(session, Answer{Key: fmt.Sprint(i, long), What: "release " + long, At: time.Now(), Name: long})
	}
}

// However many answers are given, the newest are kept, as many as there is room for.
func TestAnswersAreBounded(t *testing.T) {
	var s State
	s.make()
	s.apply(&record{Op: opOpened, Session: ptr(client("a"))})
	for i := range MostAnswers + 100 {
		s.apply(answered("a", &Answer{Key: fmt.Sprint(i), What: "release", At: day}))
	}
	kept := s.Sessions["a"].Answers
	if _, last := kept[fmt.Sprint(MostAnswers+99)]; len(kept) != MostAnswers || !last {
		t.Errorf("%d answers are kept, the last one: %v", len(kept), last)
	}
	s.apply(&record{Op: opClosed, ID: "a"})
	s.apply(&record{Op: opOpened, Session: ptr(client("a"))})
	for r := range s.records() {
		if r.Op == opAnswered {
			t.Fatal("answers of a session that has ended are written")
		}
	}
}

// The file does not grow beyond its part of the file system: answers are left out, and
// nothing of what is held.
func TestJournalHasACap(t *testing.T) {
	j, _ := open(t, t.TempDir())
	j.most = 2 << 20
	j.Opened(client("a"))
	j.Told(Key{Name: "n"}, turn("a", 5), nil)
	flood(j, "a", 20_000)
	st, err := os.Stat(j.path)
	if err != nil || st.Size() > j.most+j.most/4+2*chunk {
		t.Errorf("%d bytes, %v, with a cap of %d", st.Size(), err, j.most)
	}
	_, s := reopen(t, j)
	a := s.Sessions["a"]
	if a == nil || s.Places[Key{Name: "n"}].Turn == nil {
		t.Fatal("the session or its turn is not known any more")
	}
	if _, ok := a.Answers[fmt.Sprint(19_999, strings.Repeat("x", 200))]; !ok {
		t.Errorf("of %d answers the newest is not kept", len(a.Answers))
	}
}

// When the disk is full the answers are given up for the rest.
func TestNoRoomForAnswers(t *testing.T) {
	j, first := open(t, t.TempDir())
	j.Opened(client("a"))
	j.Told(Key{Name: "n"}, turn("a", 5), nil)
	flood(j, "a", 100)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = j.out.drop()
	j.out = &tail{f: full, plain: true}
	j.Report = func(err error) { t.Errorf("reported %v", err) }
	j.Entries(Key{Name: "n"}, "a", 2, nil)
	if err := j.Err(); err != nil {
		t.Fatal(err)
	}
	_, s := reopen(t, j)
	if p := s.Places[Key{Name: "n"}]; s.Node != first.Node || p == nil || p.Turn == nil || p.Turn.Count != 2 {
		t.Errorf("%+v, place %+v; want all that is held", s, p)
	}
	if n := len(s.Sessions["a"].Answers); n != 0 {
		t.Errorf("%d answers take room that there is not", n)
	}
}

// A file that an earlier version let grow does not keep its locks waiting for answers
// that are forgotten at once.
func TestOldAnswersAreNotRead(t *testing.T) {
	j, _ := open(t, t.TempDir())
	b := append([]byte(nil), written(t, j)...)
	b = (&record{Op: opOpened, Session: ptr(client("a"))}).append(b)
	for i := range MostAnswers + 5 {
		b = answered("a", &Answer{Key: fmt.Sprint(i), What: "release", At: day}).append(b)
	}
	if n := oldAnswers(b[len(header):]); n != 5 {
		t.Errorf("%d answers are old, want 5", n)
	}
	s, err := read(b)
	if err != nil || len(s.Sessions["a"].Answers) != MostAnswers {
		t.Errorf("%d answers, %v, want %d", len(s.Sessions["a"].Answers), err, MostAnswers)
	}
}

func ptr[T any](v T) *T { return &v }
