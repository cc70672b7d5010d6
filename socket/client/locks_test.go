package client

import (
	"fmt"
	"testing"
)

// A list goes on page by page, sorted and counted by the gateway.
func TestLocks(t *testing.T) {
	g := start(t)
	ctx := t.Context()
	holder, waiter := g.client(Options{}), g.client(Options{})
	for i := range 25 {
		if _, err := holder.Lock(ctx, fmt.Sprintf("jobs/%02d", i), LockOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	go func() { _, _ = waiter.Lock(ctx, "jobs/07", LockOptions{Wait: slack}) }()
	for {
		page, err := holder.Locks(ctx, LockQuery{Sort: "waiters", Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if page.Waiting == 1 {
			if page.Items[0].Name != "jobs/07" || page.Locks != 25 || page.Held != 25 || page.AtLeast {
				t.Errorf("page = %+v, want the lock that is waited for first, and how many there are", page)
			}
			break
		}
	}
	var names []string
	q := LockQuery{Contains: "JOBS", State: "held", Order: "desc", Limit: 10}
	for pages := 1; ; pages++ {
		page, err := holder.Locks(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range page.Items {
			names = append(names, st.Name)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			if pages != 3 || len(names) != 25 || names[0] != "jobs/24" || names[24] != "jobs/00" {
				t.Errorf("%d pages, %q; want 25 names on three, the last one first", pages, names)
			}
			return
		}
	}
}
