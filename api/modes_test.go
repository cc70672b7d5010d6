package api

import (
	"testing"

	"github.com/lockgw/lockgw/session"
)

func TestSharedLocks(t *testing.T) {
	g := newGateway(t, session.Config{})
	first := into[lock](t, g.must(201, request{method: "PUT", path: "/v1/locks/report?mode=shared"}))
	second := into[lock](t, g.must(201, request{method: "PUT", path: "/v1/locks/report", body: `{"mode":"shared"}`}))
	if st := g.state("report"); st.Mode != "shared" || st.Holders != 2 || st.Limit != 0 || st.Fence != second.Fence || st.Holder.Owner != second.Owner {
		t.Errorf("status = %+v, want shared by 2, the newest with fence %d", st, second.Fence)
	}
	for i, l := range []lock{first, second} {
		all := g.state("report").Shares
		if len(all) != 2 || all[i].Owner != l.Owner || all[i].Fence != l.Fence || all[i].Node != "host-a" || all[i].TTLMS <= 0 {
			t.Errorf("holders_list = %+v, want %s with fence %d at %d", all, l.Owner, l.Fence, i)
		}
	}
	if p := into[problem](t, g.must(423, request{method: "PUT", path: "/v1/locks/report"})); p.Holder == nil {
		t.Errorf("problem = %+v, want a holder", p)
	}
	g.must(200, request{method: "PUT", path: "/v1/locks/report?mode=shared", token: first.Token})
	for _, query := range []string{"", "?wait=30", "?limit=2"} {
		p := into[problem](t, g.must(409, request{method: "PUT", path: "/v1/locks/report" + query, token: first.Token}))
		if p.Code != session.CodeConflict {
			t.Errorf("%s over one's own shared hold: code %s, want conflict", query, p.Code)
		}
	}
	g.must(409, request{method: "PUT", path: "/v1/locks/report?limit=2"})
}

func TestSemaphores(t *testing.T) {
	g := newGateway(t, session.Config{})
	a := into[lock](t, g.must(201, request{method: "PUT", path: "/v1/locks/db?limit=2"}))
	g.must(201, request{method: "POST", path: "/v1/multilocks", body: `{"names":["db","db2"],"limit":2}`})
	if st := g.state("db"); st.Mode != "semaphore" || st.Holders != 2 || st.Limit != 2 {
		t.Errorf("status = %+v, want 2 of 2", st)
	}
	g.must(423, request{method: "PUT", path: "/v1/locks/db?limit=2"})
	g.must(409, request{method: "PUT", path: "/v1/locks/db?limit=3"})
	g.must(409, request{method: "PUT", path: "/v1/locks/db"})
	g.must(200, request{method: "DELETE", path: "/v1/locks/db", token: a.Token})
	g.must(201, request{method: "PUT", path: "/v1/locks/db?limit=2"})
}
