package listing_test

import (
	"testing"
	"testing/synctest"

	"github.com/lockgw/lockgw/session/listing"
)

// How many wait at another node is what it wrote last, so the count is marked where there
// may be more: in a queue, and at a node that has the name alone, which is in no queue.
func TestListWaitersElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := locked(t, 2) // the first is held by node 0, the second by node 1
		list := func(node int, q listing.Query) listing.Page {
			page, err := c.lists[node].List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			return page
		}
		mine := listing.Query{Contains: "000"}
		c.wait(0, 2, "jobs/000")
		if page := list(0, mine); page.Counts.AtLeast || page.Counts.Waiting != 2 || page.Items[0].MoreWait {
			t.Errorf("to the node that holds it there are %+v", page)
		}
		if st, err := c.nodes[0].Inspect(t.Context(), "jobs/000"); err != nil || st.Next == nil {
			t.Errorf("status = %+v, %v, want it with who is next", st, err)
		}
		if next := list(0, mine).Items[0].Next; next != nil {
			t.Errorf("a list names %+v as the next, want that the status of one name does so alone", next)
		}
		if page := list(1, mine); !page.Counts.AtLeast || page.Counts.Waiting != 0 || !page.Items[0].MoreWait {
			t.Errorf("to the other node there are %+v", page)
		}
		waited := mine
		waited.State = listing.StateWaited
		if page := list(1, waited); !page.Counts.AtLeast || page.Counts.Locks != 0 {
			t.Errorf("of those that are waited for, the other node knows %+v", page)
		}
		c.wait(1, 1, "jobs/000")
		c.wait(1, 2, "jobs/000") // nothing has to be written for them
		if page := list(0, mine); !page.Counts.AtLeast || page.Counts.Waiting != 3 || !page.Items[0].MoreWait {
			t.Errorf("with a queue there are %+v", page)
		}
		if st, err := c.nodes[0].Inspect(t.Context(), "jobs/000"); err != nil || st.MoreWait || st.Waiters != 5 {
			t.Errorf("asked, the nodes say %+v, %v", st, err)
		}
	})
}
