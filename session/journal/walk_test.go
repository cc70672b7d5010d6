package journal

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// facts are what a journal has been told, one by one, each in a word of its own.
type facts map[string]string

// forget what begins with one of the words.
func (f facts) forget(words ...string) {
	maps.DeleteFunc(f, func(k, _ string) bool {
		for _, w := range words {
			if len(k) >= len(w) && k[:len(w)] == w {
				return true
			}
		}
		return false
	})
}

// factsOf is what s says.
func factsOf(s State) facts {
	f := facts{}
	for id, c := range s.Sessions {
		f["open "+id+" "] = fmt.Sprint(c.Spent, c.Back, c.Shown != nil)
		for key, a := range c.Answers {
			f["answer "+id+" "+key] = fmt.Sprint(a.Fence, " ", a.Lost)
		}
		for o, l := range c.Losses {
			f["lost "+id+" "+o.Name] = fmt.Sprint(l.Fence)
		}
	}
	for k, p := range s.Places {
		f["want "+k.Name] = fmt.Sprint(p.Fence)
		if t := p.Turn; t != nil {
			f["turn "+k.Name] = fmt.Sprint(t.Session, t.Fence, t.Count, t.Deadline, t.Kept)
		}
	}
	f["fence"] = fmt.Sprint(s.Fence)
	return f
}

// walk is a journal to which anything is told, in any order, beside what it has to know.
type walk struct {
	t     *testing.T
	rnd   *rand.Rand
	j     *Journal
	open  map[string][3]any // sessions: spent, away until, shown
	turns map[string]*Turn  // by name
	know  facts             // of the rest
	fence uint64            // given last
	steps []string
}

// all is what the journal has to know.
func (k *walk) all() facts {
	f := maps.Clone(k.know)
	for id, c := range k.open {
		f["open "+id+" "] = fmt.Sprint(c[:]...)
	}
	for name, t := range k.turns {
		f["turn "+name] = fmt.Sprint(t.Session, t.Fence, t.Count, t.Deadline, t.Kept)
	}
	f["fence"] = fmt.Sprint(k.fence)
	return f
}

// step tells it one thing.
func (k *walk) step() {
	n, id, name := k.rnd.IntN(12), fmt.Sprint("s", k.rnd.IntN(3)), fmt.Sprint("n", k.rnd.IntN(3))
	k.steps = append(k.steps, fmt.Sprint(n, " ", id, " ", name))
	key, t := Key{Name: name}, k.turns[name]
	_, there := k.open[id]
	switch {
	case n == 0 && !there:
		k.j.Opened(client(id))
		k.open[id] = [3]any{false, time.Duration(0), false}
	case n == 1 && there:
		k.j.Closed(id)
		delete(k.open, id)
		k.know.forget("answer "+id, "lost "+id)
	case n == 2 && there:
		at := time.Duration(k.rnd.IntN(9))
		k.j.Spent(id)
		k.j.Away(id, at)
		k.j.Shown(id, Peer{PID: 1})
		k.open[id] = [3]any{true, at, true}
	case n == 3:
		k.j.Wants(key)
		if k.know["want "+name] == "" {
			k.know["want "+name] = "0"
		}
	case n == 4 && t == nil:
		k.j.Idle(key)
		delete(k.know, "want "+name)
	case n < 7 && there && t == nil:
		k.told(id, name)
	case n == 7 && t != nil && !t.Kept:
		t.Count, t.Deadline = 1+k.rnd.IntN(5), time.Duration(k.rnd.IntN(99))
		k.j.Entries(key, t.Session, t.Count, nil)
		k.j.Deadline(key, t.Deadline)
	case n == 8 && t != nil && !t.Kept:
		k.j.Lost(key, t.Session, Lost{Name: name, Thread: 1, Fence: t.Fence, Reason: "gone"})
		if _, there := k.open[t.Session]; there {
			k.know["lost "+t.Session+" "+name] = fmt.Sprint(t.Fence)
		}
		delete(k.turns, name)
	case n == 9 && t != nil && !t.Kept:
		k.j.Kept(key, t.Session, "x:1", nil)
		t.Kept, t.Session = true, ""
	case n == 10 && t != nil:
		k.j.Free(key)
		delete(k.turns, name)
	case n == 11 && there:
		k.j.Unanswered(id, name+"/0")
		delete(k.know, "answer "+id+" "+name+"/0")
	}
}

// told has a session have a name, as the answer to a request.
func (k *walk) told(id, name string) {
	k.fence++
	t := turn(id, k.fence)
	request := fmt.Sprint(name, "/", k.rnd.IntN(2))
	k.j.Told(Key{Name: name}, t, &Answer{Key: request, What: "acquire", At: time.Now(), Name: name, Thread: 1, Fence: k.fence})
	k.turns[name] = &t
	k.know["want "+name] = fmt.Sprint(k.fence)
	if lost, there := k.know["lost "+id+" "+name]; there { // an earlier answer goes on to tell of it
		for _, key := range []string{"answer " + id + " " + name + "/0", "answer " + id + " " + name + "/1"} {
			if k.know[key] == lost+" " {
				k.know[key] += "gone"
			}
		}
		delete(k.know, "lost "+id+" "+name)
	}
	k.know["answer "+id+" "+request] = fmt.Sprint(k.fence, " ")
}

// again is the next process: the file was written anew before or not, and is cut within what was
// told last or not.
func (k *walk) again() {
	if k.rnd.IntN(2) == 0 {
		if err := k.j.rewrite(); err != nil {
			k.t.Fatal(err)
		}
	}
	size := k.j.out.size
	k.j.Spent("nobody")
	cut := size + k.rnd.Int64N(k.j.out.size-size+1)
	k.j.Close()
	if err := os.Truncate(k.j.path, cut); err != nil {
		k.t.Fatal(err)
	}
	for name, t := range k.turns { // nobody else would end them
		if _, there := k.open[t.Session]; !there && !t.Kept {
			delete(k.turns, name)
		}
	}
	var got State
	k.j, got = open(k.t, filepath.Dir(k.j.path))
	k.same("the next process", factsOf(got))
}

func (k *walk) same(who string, got facts) {
	if want := k.all(); !maps.Equal(got, want) {
		k.t.Fatalf("%s knows\n%v, want\n%v\nafter %q", who, got, want, k.steps)
	}
}

// Whatever it is told, in whatever order, and wherever a file breaks off: the next process knows it.
func TestAnythingMayBeTold(t *testing.T) {
	for seed := range uint64(8) {
		k := &walk{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), open: map[string][3]any{}, turns: map[string]*Turn{}, know: facts{}}
		k.j, _ = open(t, t.TempDir())
		for range 20 {
			for range 20 {
				k.step()
				k.same("this process", factsOf(k.j.state))
			}
			k.again()
		}
	}
}
