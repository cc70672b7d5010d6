package journal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func open(t *testing.T, dir string) (*Journal, State) {
	t.Helper()
	j, s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j, s
}

// reopen is what the next process finds.
func reopen(t *testing.T, j *Journal) (*Journal, State) {
	t.Helper()
	j.Close()
	return open(t, filepath.Dir(j.path))
}

// written is what the file has but for the zeros after it.
func written(t *testing.T, j *Journal) []byte {
	t.Helper()
	b, err := os.ReadFile(j.path)
	if err != nil {
		t.Fatal(err)
	}
	return b[:j.out.size]
}

var day = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

func client(id string) Session {
	return Session{ID: id, UUID: "uuid-" + id, Hash: []byte(id), Since: day, Meta: map[string]string{"job": "x"}, Life: Keepalive, Keepalive: time.Minute}
}

func turn(session string, fence uint64) Turn {
	return Turn{Session: session, Thread: 1, Hold: fence, Fence: fence, Count: 1, TTL: time.Second, Deadline: time.Hour, Since: day}
}

// scribble writes n random records.
func scribble(j *Journal, rng *rand.Rand, n int) {
	for range n {
		id := fmt.Sprint("s", rng.IntN(4))
		k := Key{Name: fmt.Sprint("n", rng.IntN(4)), Slot: []string{"", "7"}[rng.IntN(2)]}
		var a *Answer
		if rng.IntN(2) == 0 {
			a = &Answer{Key: fmt.Sprint("k", rng.IntN(3)), What: "acquire", At: time.Now().UTC().Round(0), Fence: rng.Uint64N(9), Code: []string{"", "locked"}[rng.IntN(2)]}
		}
		switch rng.IntN(13) {
		case 12:
			j.Unanswered(id, fmt.Sprint("k", rng.IntN(3)))
		case 0:
			j.Opened(client(id))
		case 1:
			j.Closed(id)
		case 2:
			j.Spent(id)
		case 3:
			j.Answered(id, Answer{Key: "k", What: "release", At: time.Now().UTC().Round(0), Count: 2})
		case 4:
			j.Wants(k)
		case 5:
			j.Idle(k)
		case 6:
			j.Told(k, turn(id, rng.Uint64N(100)), a)
		case 7:
			j.Released(k, id, a)
		case 8:
			j.Lost(k, id, Lost{Name: k.Name, Thread: 1, Fence: 3, Reason: "gone"})
		case 9:
			j.Kept(k, id, "uuid:1", a)
		case 10:
			j.Deadline(k, time.Duration(rng.Int64N(1000)))
		default:
			j.Entries(k, id, rng.IntN(5), a)
		}
	}
}

// same compares what two processes know.
func same(t *testing.T, what string, got, want State) {
	t.Helper()
	for _, s := range []State{got, want} {
		for _, c := range s.Sessions { // whether there was something once is not known later
			if len(c.Answers) == 0 {
				c.Answers = nil
			}
			if len(c.Losses) == 0 {
				c.Losses = nil
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

func TestNextProcessKnowsAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		j, _ := open(t, t.TempDir())
		scribble(j, rng, 200)
		want := j.state.clone()
		want.forgetEnded()
		want.modernize()
		again, got := reopen(t, j)
		same(t, "after a restart", got, want)
		_, got = reopen(t, again)
		same(t, "after another, from a file that was written at once", got, want)
	}
}

// Wherever the file breaks off, what is left is what was known at some time.
func TestTornTail(t *testing.T) {
	j, _ := open(t, t.TempDir())
	known := []State{}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		scribble(j, rng, 1)
		known = append(known, j.state.clone())
	}
	b := written(t, j)
	last := -1
	for n := j.base; n <= int64(len(b)); n++ {
		got, err := read(b[:n])
		if err != nil {
			t.Fatalf("cut off at %d: %v", n, err)
		}
		at := -1
		for i := max(last, 0); i < len(known); i++ {
			if reflect.DeepEqual(got.clone(), known[i]) {
				at = i
				break
			}
		}
		if at < 0 && last >= 0 {
			// A record and the answer that goes with it are written at once: this is
			// between them, where a process cannot end.
			continue
		}
		last = at
	}
	if !reflect.DeepEqual(known[last], known[len(known)-1]) {
		t.Errorf("the whole file is state %d, want %d", last, len(known)-1)
	}
}

// A bit that was turned is never believed, wherever it is.
func TestDamage(t *testing.T) {
	j, _ := open(t, t.TempDir())
	scribble(j, rand.New(rand.NewPCG(5, 6)), 30)
	b := written(t, j)
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 0x10
		if s, err := read(bad); err == nil {
			t.Fatalf("byte %d of %d was changed, and %d sessions were believed", i, len(b), len(s.Sessions))
		}
	}
}

func TestForeignFile(t *testing.T) {
	for _, text := range []string{"hello", header, header + "garbage garbage", "\x00\x00\x00"} {
		dir := t.TempDir()
		path := filepath.Join(dir, fileName)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, s := open(t, dir)
		if s.Node == "" || len(s.Sessions)+len(s.Places) != 0 {
			t.Errorf("%q: %+v, want a new node that knows nothing", text, s)
		}
		if s.Rejected != path+".bad" {
			t.Errorf("%q: rejected %q", text, s.Rejected)
		}
		if kept, err := os.ReadFile(path + ".bad"); err != nil || string(kept) != text {
			t.Errorf("%q is not kept beside: %q, %v", text, kept, err)
		}
	}
}

// What has the name of the journal and is no file is told as what it is, and waits for nobody.
func TestNoPlainFile(t *testing.T) {
	for name, create := range map[string]func(path string) error{
		"d": func(path string) error { return os.Mkdir(path, 0o700) },
		"p": func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		dir := t.TempDir()
		if err := create(filepath.Join(dir, fileName)); err != nil {
			t.Fatal(err)
		}
		j, _, err := Open(dir)
		if err == nil {
			_ = j.Close()
		}
		if want := fileName + " is no plain file (" + name; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

// Of another start of the machine only the places are known: their clients are
// gone, but the store may have something.
func TestMachineWasStarted(t *testing.T) {
	j, _ := open(t, t.TempDir())
	j.Opened(client("a"))
	j.Told(Key{Name: "n"}, turn("a", 5), nil)
	j.state.Boot = "another"
	if err := j.rewrite(); err != nil {
		t.Fatal(err)
	}
	node := j.state.Node
	_, s := reopen(t, j)
	p := s.Places[Key{Name: "n"}]
	if len(s.Sessions) != 0 || p == nil || p.Turn != nil || p.Fence != 5 || s.Node != node {
		t.Errorf("%+v, place %+v; want the node, the place and its fence, and no session", s, p)
	}
}

// Machines that are made of one image are nodes of their own, though a gateway ran where the
// image was made. Only a node of which the store may have something goes on.
func TestImageOfAMachine(t *testing.T) {
	j, first := open(t, t.TempDir())
	j.Told(Key{Name: "n"}, turn("a", 5), nil)
	j.Free(Key{Name: "n"})
	j.Idle(Key{Name: "n"})
	j, again := reopen(t, j)
	if again.Node != first.Node {
		t.Errorf("at the same start of the machine it is node %s, want %s", again.Node, first.Node)
	}
	j.state.Boot = "another"
	if err := j.rewrite(); err != nil {
		t.Fatal(err)
	}
	_, s := reopen(t, j)
	if s.Node == first.Node || s.Node == "" || bytes.Equal(s.Secret, first.Secret) || s.Fence != again.Fence {
		t.Errorf("%+v; want a new node with a secret of its own, and the mark of fences", s)
	}
}

// A disk that is full: what is behind the truth must not be found.
func TestCannotWrite(t *testing.T) {
	j, first := open(t, t.TempDir())
	j.Opened(client("a"))
	good := j.out
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	j.out = &tail{f: full}
	if err := os.Mkdir(j.path+".new", 0o700); err != nil { // nor is there room for another file
		t.Fatal(err)
	}
	var heard []error
	j.Report = func(err error) { heard = append(heard, err) }
	j.Told(Key{Name: "n"}, turn("a", 5), nil)
	if j.Err() == nil {
		t.Error("no error")
	}
	if s, err := load(j.path); err != nil || s.Node != "" {
		t.Errorf("found %+v, %v; want nothing", s, err)
	}
	good.close()
	if err := os.Remove(j.path + ".new"); err != nil {
		t.Fatal(err)
	}
	j.next = time.Time{}
	j.Entries(Key{Name: "n"}, "a", 2, nil) // there is room again
	if err := j.Err(); err != nil {
		t.Errorf("err = %v, want it to be written again", err)
	}
	if len(heard) != 2 || heard[0] == nil || heard[1] != nil {
		t.Fatalf("reported %v, want an error and its end", heard)
	}
	if strings.Contains(heard[0].Error(), "\n") {
		t.Errorf("reported %q, want one line", heard[0])
	}
	_, s := reopen(t, j)
	if p := s.Places[Key{Name: "n"}]; s.Node != first.Node || p == nil || p.Turn == nil || p.Turn.Count != 2 {
		t.Errorf("%+v, place %+v; want all that happened", s, p)
	}
}

// It is written anew as soon as that is possible, also where nothing happens.
func TestWrittenAnewInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		j, first := open(t, dir)
		j.Opened(client("a"))
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(glance)
		j.Told(Key{Name: "n"}, turn("a", 5), nil)
		if j.Err() == nil {
			t.Fatal("no error without the directory")
		}
		time.Sleep(3 * retry)
		if j.Err() == nil {
			t.Error("no error while it is not there")
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * retry)
		if err := j.Err(); err != nil {
			t.Errorf("err = %v, want it to be written again", err)
		}
		_, s := reopen(t, j)
		if p := s.Places[Key{Name: "n"}]; s.Node != first.Node || p == nil || p.Turn == nil {
			t.Errorf("%+v, place %+v; want all that happened", s, p)
		}
	})
}

// The file does not grow with what has happened.
func TestFileStaysSmall(t *testing.T) {
	j, _ := open(t, t.TempDir())
	j.Opened(client("a"))
	for i := range 100_000 {
		j.Told(Key{Name: "n"}, turn("a", uint64(i+1)), nil)
		j.Released(Key{Name: "n"}, "a", nil)
	}
	st, err := os.Stat(j.path)
	if err != nil || st.Size() > slack+4*j.base+2*chunk {
		t.Errorf("%d bytes, %v", st.Size(), err)
	}
	if _, s := reopen(t, j); s.Places[Key{Name: "n"}].Fence != 100_000 {
		t.Errorf("last fence = %d", s.Places[Key{Name: "n"}].Fence)
	}
}

// Where the file cannot be written anew, it goes on: what is in it is true.
func TestCannotWriteAnew(t *testing.T) {
	j, _ := open(t, t.TempDir())
	j.Opened(client("a"))
	obstacle := j.path + ".new"
	if err := os.MkdirAll(filepath.Join(obstacle, "full"), 0o700); err != nil { // an empty one is taken away
		t.Fatal(err)
	}
	scribble := func() {
		for range 1000 {
			j.Told(Key{Name: "n"}, turn("a", 5), nil)
		}
	}
	long := slack + 4*j.base + chunk
	for range long / 1000 { // a record has more than a byte
		if scribble(); j.out.size > long || j.Err() != nil {
			break
		}
	}
	if j.out.size <= long {
		t.Fatalf("%d bytes, want more than %d", j.out.size, long)
	}
	want := j.state.clone()
	if got, err := read(written(t, j)); err != nil || j.Err() != nil {
		t.Fatalf("read: %v, err = %v, want what was written", err, j.Err())
	} else {
		same(t, "from the long file", got, want)
	}
	if err := os.RemoveAll(obstacle); err != nil {
		t.Fatal(err)
	}
	j.next = time.Time{}
	if scribble(); j.out.size > slack {
		t.Errorf("%d bytes, want a short file again", j.out.size)
	}
	_, got := reopen(t, j)
	same(t, "after a restart", got, want)
}

// A session that loses one name after the other, for years.
func TestLossesAreBounded(t *testing.T) {
	j, _ := open(t, t.TempDir())
	j.Opened(client("a"))
	for i := range 3 * maxLosses {
		k := Key{Name: fmt.Sprint("n", i)}
		j.Told(k, turn("a", 5), nil)
		j.Lost(k, "a", Lost{Name: k.Name, Thread: 1, Fence: 5, Reason: "max_hold"})
		j.Idle(k)
	}
	_, s := reopen(t, j)
	last := Owner{fmt.Sprint("n", 3*maxLosses-1), 1}
	if c := s.Sessions["a"]; len(c.Losses) != maxLosses || c.Losses[last].Fence != 5 {
		t.Errorf("%d losses, the last one %+v; want %d and the last one among them", len(c.Losses), c.Losses[last], maxLosses)
	}
}

func TestAnswersAreForgotten(t *testing.T) {
	j, _ := open(t, t.TempDir())
	j.Opened(client("a"))
	j.Answered("a", Answer{Key: "old", Up: time.Hour})
	j.Answered("a", Answer{Key: "new", Up: time.Hour + Remember + 1})
	j, s := reopen(t, j)
	if a := s.Sessions["a"].Answers; len(a) != 1 || a["new"].Key != "new" {
		t.Errorf("answers = %v, want the new one", a)
	}
	j.heard = j.heard.Add(-Remember - 1)
	if err := j.rewrite(); err != nil {
		t.Fatal(err)
	}
	if _, s = reopen(t, j); len(s.Sessions["a"].Answers) != 0 {
		t.Errorf("answers = %v, want none in a file that is written when they are old", s.Sessions["a"].Answers)
	}
}

// The next process gives the answers of an earlier version anew, one after the other. If it is
// killed meanwhile, the one after that has all of them.
func TestAnswersOfAnEarlierVersion(t *testing.T) {
	j, _ := open(t, t.TempDir())
	j.Opened(client("a"))
	j.Answered("a", Answer{Key: "1"})
	j.Answered("a", Answer{Key: "2"})
	j.Answered("a", Answer{Key: "1", Up: time.Hour})
	j, s := reopen(t, j)
	if a := s.Sessions["a"].Answers; len(a) != 2 {
		t.Errorf("answers = %v, want two", a)
	}
	j.Answered("a", Answer{Key: "2", Up: time.Hour})
	j.Answered("a", Answer{Key: "3", Up: time.Hour + Remember + 1})
	if _, s = reopen(t, j); len(s.Sessions["a"].Answers) != 1 {
		t.Errorf("answers = %v, want the last one", s.Sessions["a"].Answers)
	}
}

func BenchmarkTurn(b *testing.B) {
	j, _, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	j.Opened(client("a"))
	b.ReportAllocs()
	for b.Loop() {
		j.Told(Key{Name: "n"}, turn("a", 5), nil)
		j.Released(Key{Name: "n"}, "a", nil)
	}
}

func BenchmarkSession(b *testing.B) {
	j, _, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	b.ReportAllocs()
	for b.Loop() {
		j.Opened(client("a"))
		j.Closed("a")
	}
}
