// Package listing tells of all names that are held or waited for, in pages: which of them,
// in which order, and how many there are. It reads them from the core, which has them from
// the store, and keeps what it has read for the next page.
package listing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// Query says which names List tells of, and in which order.
type Query struct {
	Prefix   string        // names that begin so
	Contains string        // names that have this in them, small and capital letters alike
	State    session.State // held, free or waited; "": any
	Sort     Order         // "": ByName
	Order    string        // asc or desc; "": texts ascend and numbers descend
	Cursor   string        // "", or the Next of the page before
	Limit    int           // at most so many; 100
	// Sees says which names exist for the one who asks; nil: all.
	Sees func(name string) bool
}

// Page is a part of a list.
type Page struct {
	Items  []session.Status
	Next   string // where to go on; "": this is the end
	Counts Counts // of all names that the query asks for, on this page or not
	// Incomplete is why names are missing; "": none is.
	Incomplete string
}

// Counts is how much there is.
type Counts struct {
	Locks, Held int // names; those of them that are held
	Waiting     int // callers
	// AtLeast: there may be more. Names are missing, as Incomplete says; or other nodes have
	// callers that wait of whom they have not told the store, and names that nobody else
	// waits for, if those were asked for that somebody waits for.
	AtLeast bool
}

// List tells about names that are held or waited for. A name that is there all the time
// is on exactly one page, if Sort is ByName; in another order it may move to another
// page between two requests. CodeInvalid, CodeUnavailable.
func (l *Lists) List(ctx context.Context, q Query) (Page, error) {
	from, err := q.check()
	if err != nil {
		return Page{}, err
	}
	all, err := l.get(ctx, q.Prefix, q.Cursor != "")
	if err != nil {
		return Page{}, fmt.Errorf("list locks: %w", err)
	}
	page := Page{Incomplete: all.incomplete, Counts: Counts{AtLeast: all.incomplete != ""}}
	var found []*place
	for i := range all.names {
		if one := &all.names[i]; q.wants(one) {
			found = append(found, &one.place)
			page.Counts.add(one)
		} else if one.moreWait && q.wantsWaited(one) {
			page.Counts.AtLeast = true
		}
	}
	compare := q.compare()
	slices.SortFunc(found, compare)
	if from != nil {
		begin, exact := slices.BinarySearchFunc(found, from, compare)
		if exact {
			begin++
		}
		found = found[begin:]
	}
	if len(found) > q.Limit {
		found = found[:q.Limit]
		page.Next = cursorAfter(found[q.Limit-1])
	}
	var lacks []error
	page.Items, lacks = l.look(ctx, &q, found)
	switch n := len(lacks); {
	case n == 0:
	case n == len(found):
		return Page{}, fmt.Errorf("list locks: %w", lacks[0])
	default:
		page.Incomplete = cmp.Or(page.Incomplete, fmt.Sprintf("of %d names on this page %d are left out, since the store does not tell how they are: %v", len(found), n, lacks[0]))
	}
	return page, nil
}

func (c *Counts) add(l *listed) {
	c.Locks++
	c.Waiting += l.Waiters
	c.AtLeast = c.AtLeast || l.moreWait
	if l.state == session.StateHeld {
		c.Held++
	}
}

// check refuses what List does not know, and returns where to begin.
func (q *Query) check() (*place, error) {
	q.Sort, q.Limit = cmp.Or(q.Sort, ByName), cmp.Or(q.Limit, 100)
	if !slices.Contains(Orders, q.Sort) {
		return nil, session.Invalid("sort", "%q is not one of %s", q.Sort, joined(Orders))
	}
	if q.Order != "" && q.Order != "asc" && q.Order != "desc" {
		return nil, session.Invalid("order", "%q is neither asc nor desc", q.Order)
	}
	if q.State != "" && !slices.Contains(States, q.State) {
		return nil, session.Invalid("state", "%q is not one of %s", q.State, joined(States))
	}
	if q.Limit < 0 {
		return nil, session.Invalid("limit", "is %d; want at least 1", q.Limit)
	}
	q.Contains = strings.ToLower(q.Contains)
	if q.Cursor == "" {
		return nil, nil
	}
	return parseCursor(q.Cursor)
}

func (q *Query) wants(l *listed) bool {
	return (q.State == "" || l.state == q.State || q.State == StateWaited && l.Waiters > 0) && q.finds(l)
}

// wantsWaited: q would want l if somebody waited for it.
func (q *Query) wantsWaited(l *listed) bool { return q.State == StateWaited && q.finds(l) }

func (q *Query) finds(l *listed) bool {
	return (q.Contains == "" || strings.Contains(strings.ToLower(l.Name), q.Contains)) && (q.Sees == nil || q.Sees(l.Name))
}

// look asks about each name of a page again: what is known of it may be some seconds
// old, and tells less than Inspect. A name that is not wanted any more is left out; so is one
// about which there is no answer, whose error is among those that are returned.
func (l *Lists) look(ctx context.Context, q *Query, names []*place) ([]session.Status, []error) {
	ctx, cancel := context.WithTimeout(ctx, l.from.Config().Timeout)
	defer cancel()
	all, errs := make([]session.Status, len(names)), make([]error, len(names))
	_ = backend.Each(len(names), func(i int) error {
		all[i], errs[i] = l.from.Glance(ctx, names[i].Name)
		all[i].Shares = nil // for a page of large semaphores would be large
		all[i].Next = nil   // the nodes that may know who it is were not asked
		return nil
	})
	gone := func(st session.Status) bool {
		now := listedOf(st) // the zero one where there was no answer
		return st.State != session.StateHeld && st.Waiters == 0 || !q.wants(&now)
	}
	all = slices.DeleteFunc(all, gone)
	compare := q.compare()
	slices.SortStableFunc(all, func(a, b session.Status) int { // by what they are now
		x, y := listedOf(a), listedOf(b)
		return compare(&x.place, &y.place)
	})
	return all, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// Order is what a list is sorted by.
type Order string

// The orders. A name of which there is nothing to sort by comes last, whatever the
// direction; equal ones are in the order of their names.
const (
	ByName    Order = "name"
	ByHolder  Order = "holder"  // its node, then its command
	ByHeld    Order = "held"    // for how long
	ByLease   Order = "lease"   // what is left of it
	ByWaiters Order = "waiters" // how many
	ByFence   Order = "fence"
)

// Orders are all of them.
var Orders = []Order{ByName, ByHolder, ByHeld, ByLease, ByWaiters, ByFence}

// StateWaited, of a list alone, is of names that somebody waits for, held or free.
const StateWaited session.State = "waited"

// States are those that a list can be narrowed to.
var States = []session.State{session.StateHeld, session.StateFree, StateWaited}

func joined[T ~string](all []T) string {
	var words []string
	for _, o := range all {
		words = append(words, string(o))
	}
	return strings.Join(words, ", ")
}

// key is what p is sorted by, so that it ascends; known is false if p has nothing of it.
func (q *Query) key(p *place) (known bool, number int64, text string) {
	switch q.Sort {
	case ByHolder:
		return p.Holder != "", 0, p.Holder
	case ByHeld:
		return p.Since != 0, p.Since, ""
	case ByLease:
		return p.Until != 0, -p.Until, ""
	case ByWaiters:
		return true, -int64(p.Waiters), ""
	case ByFence:
		return p.Fence != 0, -int64(p.Fence), ""
	default:
		return true, 0, p.Name
	}
}

func (q *Query) compare() func(a, b *place) int {
	texts := q.Sort == ByName || q.Sort == ByHolder
	reverse := q.Order == "desc" && texts || q.Order == "asc" && !texts
	return func(a, b *place) int {
		knownA, numberA, textA := q.key(a)
		knownB, numberB, textB := q.key(b)
		if knownA != knownB {
			if knownA {
				return -1
			}
			return 1
		}
		by := cmp.Or(cmp.Compare(numberA, numberB), strings.Compare(textA, textB))
		if reverse {
			by = -by
		}
		return cmp.Or(by, strings.Compare(a.Name, b.Name))
	}
}
