package ledger

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// What a Step must not do, or only then, each in the shortest way to it.
func TestStepGuards(t *testing.T) {
	for name, run := range map[string]func(r *scenario){
		"an offer is no hold to break": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).leaves("a").op(Op{Verb: Break, Node: "c", Hold: r.row.Record.Offer("b").ID}).is("b? | b").says("[]")
		},
		"a caller is broken once, however often that is asked": func(r *scenario) {
			r.want("a", s, 1)
			for range 2 {
				r.op(Op{Verb: Break, Node: "c", Hold: r.row.Record.Firm("a").ID, Caller: 1}).is("a |").says("[a 3]")
			}
			if got := r.row.Record.Firm("a").Breaks; len(got) != 1 {
				r.t.Errorf("breaks are %v, want one", got)
			}
		},
		"that nobody heard of it ends an offer, and no hold": func(r *scenario) {
			r.want("a", x, 1).op(Op{Node: "b", Mode: x, Want: 1, Unheard: []backend.Fence{r.row.Record.Firm("a").ID}}).is("a | b")
		},
		"who is told of an offer that ran out": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).want("c", x, 1).leaves("a").after(time.Second)
			r.op(Op{Verb: Pass, Node: "a"}).is("c? | b! c").says("[b 1, c 1]").want("b", x, 1).is("c? | b c")
		},
		"those who hold are told again of a suspect that waits after all": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).want("c", x, 1).leaves("a").after(time.Second).want("c", x, 1).is("c | b!")
			r.want("b", x, 1).is("c | b").says("[c 2]").want("b", x, 1).says("[]")
		},
		"a hold that runs out costs no place in the queue": func(r *scenario) {
			r.want("a", s, 1).op(Op{Node: "a", Mode: x, Want: 1, Keep: 1}).is("a | a")
			r.after(30*time.Second).want("b", x, 1).is("a? | a b")
		},
		"a reader is not kept waiting for another's offer": func(r *scenario) {
			r.want("a", x, 1).want("b", s, 1).leaves("a").is("b? | b").want("c", s, 1).is("b? c | b")
		},
		"a writer that gets the name by time alone passes nobody on": func(r *scenario) {
			r.want("a", x, 1).want("b", s, 1).want("c", s, 1).after(30*time.Second).want("b", s, 1).is("b c? | c")
		},
		"whose time is up is left alone by who does not see to that": func(r *scenario) {
			r.want("a", x, 1).after(30 * time.Second)
			if next, _ := Step(r.row.Record, Op{Node: "b", Mode: x, Want: 1, Turns: 1}, r.now); show(&next) != "a | b" {
				r.t.Errorf("the record is %q", show(&next))
			}
		},
		"an offer to a node that does not stand in the queue is over, or taken, like another": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).leaves("a")
			r.row.Record.Queue = nil
			offered := r.row
			r.after(time.Second).op(Op{Verb: Pass, Node: "a"}).is("|").says("[]")
			r.row, r.now = offered, 0
			r.want("b", x, 1).is("b |")
		},
		"an offer is not taken as something else": func(r *scenario) {
			r.want("a", x, 1).want("b", s, 1).want("c", s, 1).leaves("a").want("c", s, 1).is("b? c | b").want("b", x, 1).is("c | b")
		},
		"who has the name alone has no share of it": func(r *scenario) {
			r.want("a", x, 1).op(Op{Node: "a", Mode: s, Want: 1, Keep: 1}).is("a | a")
		},
		"who has a share already waits for none": func(r *scenario) {
			r.want("a", s, 1).want("b", x, 1).op(Op{Node: "a", Mode: s, Want: 1, Keep: 1}).is("a | b a").want("c", s, 1)
			r.leaves("b").is("a c? | c").says("[a 1, c 1]")
		},
		"permits that become free one by one are one offer": func(r *scenario) {
			r.want("a", p, 3).want("b", p, 3).op(Op{Node: "a", Mode: p, Keep: 2}).is("a2 b? | b3")
			r.op(Op{Node: "a", Mode: p, Keep: 1}).is("a b?2 | b3").want("b", p, 3).is("a b2 | b")
		},
		"a part of an offer does not cost the place": func(r *scenario) {
			r.want("a", p, 3).want("b", p, 3).want("c", p, 1).op(Op{Node: "a", Mode: p, Keep: 2}).want("b", p, 3).is("a2 b | b2 c")
		},
		"a semaphore stays one while others use it": func(r *scenario) {
			r.want("a", p, 1).want("b", p, 1).op(Op{Node: "a", Mode: x, Keep: 1, Want: 1}).is("a b |")
			if r.leaves("a"); r.row.Record.Size != 3 {
				r.t.Errorf("a semaphore of %d, want 3", r.row.Record.Size)
			}
			if r.leaves("b"); r.row.Record.Size != 0 {
				r.t.Errorf("nobody uses it, and it is a semaphore of %d", r.row.Record.Size)
			}
		},
		"further permits come with a block of fences": func(r *scenario) {
			r.want("a", p, 1).op(Op{Node: "a", Mode: p, Keep: 1, Want: 1}).is("a2 |")
			if h := r.row.Record.Firm("a"); h.Block == h.ID || h.Block != r.row.Record.Top {
				r.t.Errorf("the hold is %+v, want a new block", h)
			}
		},
		"who leaves keeps nothing": func(r *scenario) {
			r.want("a", x, 1).op(Op{Verb: Leave, Node: "a", Mode: x, Keep: 1}).is("|")
			r.want("a", s, 1).want("b", x, 1).op(Op{Node: "a", Mode: s, Want: 1, Keep: 1}).is("a | b a").leaves("a").is("b? | b")
		},
		"who leaves and has callers who wait is in line for them, and has not got the name": func(r *scenario) {
			r.want("a", x, 1).op(Op{Verb: Leave, Node: "a", Mode: x, Want: 1}).is("a? | a")
			r.want("a", x, 1).want("b", x, 1).op(Op{Verb: Leave, Node: "a", Mode: x, Want: 1}).is("b? | b a")
		},
		"who leaves keeps the place it had": func(r *scenario) {
			r.want("a", s, 1).want("b", x, 1).op(Op{Node: "a", Mode: s, Want: 1, Keep: 1}).want("c", x, 1).is("a | b a c")
			r.op(Op{Verb: Leave, Node: "a", Mode: s, Want: 1}).is("b? | b a c")
		},
	} {
		t.Run(name, func(t *testing.T) { run(&scenario{t: t}) })
	}
}

// What becomes of a hold and of a place in the queue by what its node uses and wants.
func TestKeepGuards(t *testing.T) {
	for name, run := range map[string]func(r *scenario){
		"who keeps a name unused goes on with it": func(r *scenario) {
			id := r.want("a", x, 1).row.Record.Firm("a").ID
			if r.want("a", x, 1).is("a |"); r.row.Record.Firm("a").ID != id {
				r.t.Error("it was granted anew")
			}
		},
		"those who share are one": func(r *scenario) {
			r.want("a", s, 1).op(Op{Node: "a", Mode: s, Keep: 5}).is("a |")
		},
		"what nobody uses is no use to who wants something else": func(r *scenario) {
			r.want("a", s, 1).want("b", s, 1).op(Op{Node: "a", Mode: x, Want: 1}).is("b | a")
		},
		"permits that nobody uses may be kept": func(r *scenario) {
			r.want("a", p, 2).op(Op{Node: "a", Mode: p}).is("a2 |")
		},
		"permits that somebody here will use are kept": func(r *scenario) {
			r.want("a", p, 3).op(Op{Node: "a", Mode: p, Keep: 1, Want: 1}).is("a3 |").op(Op{Node: "a", Mode: p, Keep: 1, Want: 3}).is("a3 | a")
		},
		"permits that were not granted go": func(r *scenario) {
			r.want("a", p, 3).op(Op{Node: "a", Mode: p, Keep: 1, Want: 1, Stray: 1}).is("a2 |").op(Op{Node: "a", Mode: p, Stray: 2}).is("|")
		},
		"of a hold that is not known no more is taken than is there": func(r *scenario) {
			r.want("a", p, 1).want("b", p, 2).op(Op{Node: "a", Hold: 999, Mode: p, Want: 3, Turns: 9}).is("a b2 | a2")
			if h := r.row.Record.Firm("a"); h.Block != h.ID {
				r.t.Errorf("the hold is %+v, want a new block alone", h)
			}
		},
		"nor more than is wanted": func(r *scenario) {
			r.want("a", p, 3).op(Op{Node: "a", Hold: 999, Mode: p, Want: 1, Turns: 9}).is("a |")
			if h := r.row.Record.Firm("a"); h.Block != h.ID {
				r.t.Errorf("the hold is %+v, want a new block alone", h)
			}
		},
		"nor as something else": func(r *scenario) {
			r.want("a", s, 1).want("b", s, 1).op(Op{Node: "a", Hold: 999, Mode: x, Want: 1}).is("b | a")
		},
		"more permits than the place was for are wanted from its end": func(r *scenario) {
			r.want("a", p, 3).want("b", p, 1).want("c", p, 1).op(Op{Node: "a", Mode: p, Keep: 2}).is("a2 b? | b c")
			r.want("b", p, 3).is("a2 b | c b2").says("[a 2]")
		},
		"fewer permits, or more as the last": func(r *scenario) {
			r.want("a", p, 3).want("b", p, 2).want("b", p, 3).is("a3 | b3").want("c", p, 1).want("b", p, 1).is("a3 | b c")
		},
		"a writer that would do with a share": func(r *scenario) {
			r.want("a", s, 1).want("b", x, 1).want("b", s, 1).is("a b |")
		},
	} {
		t.Run(name, func(t *testing.T) { run(&scenario{t: t}) })
	}
}

// Who is told, and who is not.
func TestMessageGuards(t *testing.T) {
	for name, run := range map[string]func(r *scenario){
		"who was only offered the name is not told that others wait": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).leaves("a").want("c", x, 1).is("b? | b c").says("[]")
		},
		"nobody tells itself that it waits": func(r *scenario) {
			r.want("a", s, 1).op(Op{Node: "a", Mode: x, Want: 1, Keep: 1}).is("a | a").says("[]")
		},
		"nobody is told where the name is kept from all": func(r *scenario) {
			r.want("a", x, 1).op(Op{Verb: Leave, Node: "a", Bar: time.Second}).want("b", x, 1).is(" | b").says("[]")
		},
		"a suspect does not watch over offers": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).want("c", x, 1).want("d", x, 1)
			r.row.Record.Queue[1].Suspect = true
			r.leaves("a").is("b? | b c! d").says("[b 1, d 1]")
		},
		"nobody is told twice": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).leaves("a").after(time.Second).leaves("a").is("b? | b!").says("[b 1]")
		},
		"nor what it sees itself": func(r *scenario) {
			r.want("a", s, 1).want("b", x, 1).op(Op{Node: "a", Mode: s, Want: 1, Keep: 1}).is("a | b a")
			r.row.Record.Queue[0].Suspect = true
			r.op(Op{Node: "a", Mode: s, Want: 1, Keep: 1}).is("a | b!").says("[]")
		},
		"who writes need not be told to watch": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).want("a", x, 1).is("b? | b a").says("[b 1]")
		},
	} {
		t.Run(name, func(t *testing.T) { run(&scenario{t: t}) })
	}
}

// Nodes of which nobody hears again leave the queue, and the first of very many suspects.
func TestSuspectGuards(t *testing.T) {
	offered := func() *scenario {
		r := (&scenario{t: t}).want("a", x, 1).want("b", x, 1).leaves("a").after(time.Second).op(Op{Verb: Pass, Node: "a"}).is("| b!")
		return r.want("a", x, 1).leaves("a").is("b? | b!")
	}
	offered().after(time.Second).op(Op{Verb: Pass, Node: "a"}).is("| b!")
	r := offered()
	r.op(Op{Verb: Pass, Node: "a", Unheard: []backend.Fence{r.row.Record.Offer("b").ID}}).is("|")

	r = (&scenario{t: t}).want("a", x, 1)
	for i := range mostSuspects {
		r.row.Record.Queue = append(r.row.Record.Queue, Entry{Node: string(rune('A' + i)), Want: 1, Suspect: i > 0})
	}
	pass := func() *scenario { return r.after(time.Second).op(Op{Verb: Pass, Node: "a"}) }
	r.want("b", x, 1).want("c", x, 1).leaves("a")
	pass().is("b? | A! B! C! D! E! F! G! H! I! J! K! L! M! N! O! P! b c") // as many as may
	pass().is("c? | B! C! D! E! F! G! H! I! J! K! L! M! N! O! P! b! c")
}

// What was ended by force is no hold that the store has forgotten.
func TestBrokenIsNotForgotten(t *testing.T) {
	r := (&scenario{t: t}).want("a", x, 1)
	id := r.row.Record.Firm("a").ID
	r.op(Op{Verb: Break, Node: "c", Hold: id}).is("|").op(Op{Verb: Reclaim, Node: "a", Hold: id, Keep: 1, Restore: true, Floor: id}).is("|")
}

// A hold is written down again only for a store that may have forgotten it, and only where nobody
// has anything that excludes it.
func TestRestoreGuards(t *testing.T) {
	claim := Op{Verb: Reclaim, Node: "a", Hold: 40, Keep: 2, Restore: true, Floor: 50, Mode: p}
	changed := func(change func(op *Op)) Op { op := claim; change(&op); return op }
	nobody := func(*scenario) {}
	for name, tt := range map[string]struct {
		before func(r *scenario)
		op     Op
		want   string
	}{
		"permits":           {nobody, claim, "a2 |"},
		"beside others":     {func(r *scenario) { r.want("b", p, 1) }, claim, "b a2 |"},
		"one too many":      {func(r *scenario) { r.want("b", p, 2) }, claim, "b2 |"},
		"a reader":          {func(r *scenario) { r.want("b", s, 1) }, changed(func(op *Op) { op.Mode, op.Keep = x, 1 }), "b |"},
		"a writer":          {func(r *scenario) { r.want("b", x, 1) }, changed(func(op *Op) { op.Mode, op.Keep = s, 1 }), "b |"},
		"those who share":   {nobody, changed(func(op *Op) { op.Mode = s }), "a |"},
		"an earlier one":    {func(r *scenario) { r.want("a", p, 1) }, claim, "a2 |"},
		"a later one":       {func(r *scenario) { r.want("a", p, 1).leaves("a").want("a", p, 1) }, changed(func(op *Op) { op.Hold = 1 }), "|"},
		"not used":          {nobody, changed(func(op *Op) { op.Mode, op.Keep = x, 0 }), "|"},
		"fences as known":   {func(r *scenario) { r.want("b", x, 1).leaves("b") }, changed(func(op *Op) { op.Hold, op.Floor = 1, 1 }), "a2 |"},
		"of no hold":        {nobody, changed(func(op *Op) { op.Hold = 0 }), "|"},
		"nothing forgotten": {nobody, changed(func(op *Op) { op.Restore = false }), "|"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &scenario{t: t}
			tt.before(r)
			r.op(tt.op).is(tt.want)
			if h := r.row.Record.Firm("a"); h != nil && h.ID != tt.op.Hold {
				t.Errorf("it is hold %d, want %d", h.ID, tt.op.Hold)
			}
			if tt.want == "a2 |" && r.row.Record.Size != 3 {
				t.Errorf("a semaphore of %d, want 3", r.row.Record.Size)
			}
		})
	}
}

// What a node has given says nothing of the fences of others, and an offer has none that anybody
// was given.
func TestLastBesideOthers(t *testing.T) {
	r := (&scenario{t: t}).want("b", s, 1).op(Op{Node: "a", Mode: s, Want: 1, Turns: 9, TTL: time.Hour})
	given := r.row.Record.Firm("a").ID + 1
	r.after(30 * time.Second).op(Op{Node: "a", Mode: s, Keep: 1, Want: 1, Last: given}).is("a |")
	r.want("c", x, 1).after(30 * time.Second).op(Op{Node: "a", Mode: s, Keep: 1, Want: 1, Last: given})
	if r.row.Record.Last != r.row.Record.Top {
		t.Errorf("last is %d, want %d: what b has given is not known", r.row.Record.Last, r.row.Record.Top)
	}
	r = (&scenario{t: t}).want("a", x, 1).want("b", x, 1).leaves("a").after(time.Second).op(Op{Verb: Pass, Node: "a"})
	if r.row.Record.Last != 0 {
		t.Errorf("last is %d after an offer that ran out, want none", r.row.Record.Last)
	}
}

// Others are those who wait for more than they were offered, and answer.
func TestOthersWait(t *testing.T) {
	for name, tt := range map[string]struct {
		r    Record
		want bool
	}{
		"nobody":     {Record{}, false},
		"itself":     {Record{Queue: []Entry{{Node: "a", Want: 1}}}, false},
		"another":    {Record{Queue: []Entry{{Node: "a", Want: 1}, {Node: "b", Want: 1}}}, true},
		"a suspect":  {Record{Queue: []Entry{{Node: "b", Want: 1, Suspect: true}}}, false},
		"an offer":   {Record{Holds: []Hold{{Node: "b", Mode: s, Count: 1, Offered: true, ID: 1}}, Queue: []Entry{{Node: "b", Mode: s, Want: 1}}}, false},
		"in part":    {Record{Holds: []Hold{{Node: "b", Mode: p, Count: 1, Offered: true, ID: 1}}, Queue: []Entry{{Node: "b", Mode: p, Want: 2}}}, true},
		"one more":   {Record{Holds: []Hold{{Node: "b", Mode: s, Count: 1, Offered: true, ID: 1}}, Queue: []Entry{{Node: "b", Mode: s, Want: 1, Then: 7}}}, true},
		"as a whole": {Record{Holds: []Hold{{Node: "b", Mode: p, Count: 2, Offered: true, ID: 1}}, Queue: []Entry{{Node: "b", Mode: p, Want: 2}}}, false},
	} {
		if got := tt.r.OthersWait("a"); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// A name is of the kind that others have it as, wait for it as, or use outside lockgw.
func TestConflicts(t *testing.T) {
	for name, tt := range map[string]struct {
		r    Record
		want bool
	}{
		"nobody":          {Record{Size: 5}, false},
		"itself":          {Record{Holds: []Hold{{Node: "a", Count: 1, ID: 1, End: time.Hour}}, Queue: []Entry{{Node: "a", Want: 1}}}, false},
		"another":         {Record{Holds: []Hold{{Node: "b", Count: 1, ID: 1, End: time.Hour}}}, true},
		"of the same":     {Record{Size: 3, Holds: []Hold{{Node: "b", Mode: p, Count: 1, ID: 1, End: time.Hour}}}, false},
		"over":            {Record{Holds: []Hold{{Node: "b", Count: 1, ID: 1, End: time.Second}}}, false},
		"one who waits":   {Record{Queue: []Entry{{Node: "b", Want: 1}}}, true},
		"outside lockgw":  {Record{Holds: []Hold{{Count: 1, End: time.Hour}}}, true},
		"kept from all":   {Record{Holds: []Hold{{Count: 1, ID: 1, End: time.Hour}}}, false},
		"some other kind": {Record{Size: OtherKind, Holds: []Hold{{Count: 1, End: time.Hour}}}, true},
	} {
		if got := tt.r.ConflictsAt("a", p, time.Minute); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// What a crash of the store may take back.
func TestRelaxed(t *testing.T) {
	firm, offer := Hold{Node: "a", Count: 1, ID: 1}, Hold{Node: "b", Count: 1, ID: 2, Offered: true}
	for name, tt := range map[string]struct {
		s    Swap
		want bool
	}{
		"a place in the queue": {Swap{}, true},
		"an offer":             {Swap{Record: Record{Holds: []Hold{firm, offer}}, Effects: Effects{Stamps: []Stamp{{ID: 2}}, Messages: []Message{{Kind: Look}}}}, true},
		"a lease":              {Swap{Record: Record{Holds: []Hold{firm, offer}}, Effects: Effects{Stamps: []Stamp{{ID: 1}}}}, false},
		"a grant":              {Swap{Effects: Effects{Grants: true}}, false},
		"ended by force":       {Swap{Effects: Effects{Messages: []Message{{Kind: Broken}}}}, false},
	} {
		if got := tt.s.Relaxed(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
