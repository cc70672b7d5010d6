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
	for i := range MostAnswers + spare + 100 {
		s.apply(answered("a", &Answer{Key: fmt.Sprint(i), What: "release", At: day}))
	}
	kept := s.Sessions["a"].Answers
	if _, last := kept[fmt.Sprint(MostAnswers+spare+99)]; len(kept) != MostAnswers+99 || !last {
		t.Errorf("%d answers are kept, the last one: %v", len(kept), last)
	}
	s.apply(&record{Op: opClosed, ID: "a"})
	s.apply(&record{Op: opOpened, Session: ptr(client("a"))})
	for range s.answers() {
		t.Fatal("answers of a session that has ended are written")
	}
}

// The file does not grow beyond its part of the file system: answers are left out, and
// nothing of what is held.
func TestJournalHasACap(t *testing.T) {
	j, _ := open(t, t.TempDir())
	j.most = 2 << 20
	j.Opened(client("a"))
	j.Told(Key{Name: "n"}, turn("a", 5), nil)
	quiet := client("quiet")
	quiet.User = "token:quiet"
	j.Opened(quiet)
	flood(j, "quiet", 1)
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
	if n := len(s.Sessions["quiet"].Answers); n != 1 {
		t.Errorf("%d answers of another user are kept, want 1", n)
	}
}

// What many sessions hold leaves an eighth of the file to answers, or no repeat would get one.
func TestAnswersBesideManySessions(t *testing.T) {
	j, _ := open(t, t.TempDir())
	j.most = 128 << 10
	for i := range 1000 {
		j.Opened(client(fmt.Sprint(i)))
	}
	for _, n := range []int{10, 1000} {
		flood(j, "7", n)
		if err := j.rewrite(); err != nil {
			t.Fatal(err)
		}
		s, err := read(written(t, j))
		if kept := len(s.Sessions["7"].Answers); err != nil || kept < 10 || kept > 30 || len(s.Sessions) != 1000 {
			t.Errorf("%d of %d answers are kept, %v, want 10 at least and 30 at most", kept, n, err)
		}
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
	if old := oldAnswers(b[len(header):]); len(old) != 1 || old[`"i":"a"`] != 5 {
		t.Errorf("%v answers are old, want 5 of one session", old)
	}
	s, err := read(b)
	if err != nil || len(s.Sessions["a"].Answers) != MostAnswers {
		t.Errorf("%d answers, %v, want %d", len(s.Sessions["a"].Answers), err, MostAnswers)
	}
}

// A user who gives work for more answers than are kept drives out its own, and nobody else's: not
// while they are told, nor when the file is read, nor when it has to become smaller.
func TestAnswersOfOthersAreKept(t *testing.T) {
	quiet := client("quiet")
	quiet.User = "token:quiet"
	j, _ := open(t, t.TempDir())
	b := append([]byte(nil), written(t, j)...)
	b = (&record{Op: opOpened, Session: &quiet}).append(b)
	b = answered("quiet", &Answer{Key: "k", What: "release", At: day, Up: time.Hour}).append(b)
	for i := range 10 {
		b = (&record{Op: opOpened, Session: ptr(client(fmt.Sprint("loud", i)))}).append(b)
	}
	last := 2*MostAnswers - 1
	for i := range last + 1 {
		b = answered(fmt.Sprint("loud", i%10), &Answer{Key: fmt.Sprint(i), What: "release", At: day, Up: time.Hour}).append(b)
	}
	s, err := read(b)
	if err != nil || len(s.Sessions["quiet"].Answers) != 1 {
		t.Fatalf("%d answers of the one who asks little are kept, %v", len(s.Sessions["quiet"].Answers), err)
	}
	if _, kept := s.Sessions[fmt.Sprint("loud", last%10)].Answers[fmt.Sprint(last)]; !kept {
		t.Error("the newest answer of the other one is not kept")
	}
	s.forgetAnswers(100)
	if n := len(s.recent); n != 100 || len(s.Sessions["quiet"].Answers) != 1 {
		t.Errorf("of 100 answers %d are kept, %d of the one who asks little", n, len(s.Sessions["quiet"].Answers))
	}
}

// An answer that was taken back or given anew takes the place of none.
func TestAnswersTakenBack(t *testing.T) {
	var s State
	s.make()
	s.apply(&record{Op: opOpened, Session: ptr(client("a"))})
	s.apply(answered("a", &Answer{Key: "first", Up: time.Hour}))
	for i := range MostAnswers + spare {
		k := &Answer{Key: fmt.Sprint(i % 10), Up: time.Hour + time.Duration(i)}
		s.apply(answered("a", k))
		if i%2 == 0 {
			s.apply(&record{Op: opUnanswered, ID: "a", Answer: k})
		}
	}
	if n := len(s.Sessions["a"].Answers); n != 6 {
		t.Errorf("%d answers are kept, want the first one and 5 others", n)
	}
}

// What nobody was promised any more goes first, whoever has the most.
func TestOldAnswersAreForgottenFirst(t *testing.T) {
	var s State
	s.make()
	few := client("few")
	few.User = "token:few"
	s.apply(&record{Op: opOpened, Session: &few})
	s.apply(&record{Op: opOpened, Session: ptr(client("many"))})
	for i := range 10 {
		s.apply(answered("few", &Answer{Key: fmt.Sprint(i), Up: time.Hour}))
	}
	for i := range 100 {
		s.apply(answered("many", &Answer{Key: fmt.Sprint(i), Up: time.Hour + 2*AtLeast}))
	}
	s.forgetAnswers(100)
	if few, many := len(s.Sessions["few"].Answers), len(s.Sessions["many"].Answers); few != 0 || many != 100 {
		t.Errorf("%d old answers and %d new ones are kept", few, many)
	}
	s.forgetAnswers(0)
	if n := len(s.Sessions["many"].Answers); n != 0 {
		t.Errorf("%d answers are kept", n)
	}
}

func TestShare(t *testing.T) {
	for _, tt := range []struct {
		of         []int
		most, want int
	}{
		{[]int{1, 200}, 100, 99},
		{[]int{90, 80}, 100, 50},
		{[]int{70, 10, 60}, 100, 45},
		{[]int{1, 1, 1}, 2, 0},
	} {
		if got := share(tt.of, tt.most); got != tt.want {
			t.Errorf("share of %d by %v = %d, want %d", tt.most, tt.of, got, tt.want)
		}
	}
}

func ptr[T any](v T) *T { return &v }
