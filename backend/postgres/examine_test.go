package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
)

// Each right that only a sweep needs, or a server that was restarted, is missed by the doctor, too.
func TestExamineRights(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	sqltest.Held(t, open(t, s.URL(), "admin"), "n")
	psql(t, s, "CREATE ROLE app LOGIN; GRANT USAGE ON SCHEMA lockgw TO app")
	app := Config{URL: strings.Replace(s.URL(), "postgres@", "app@", 1)}
	const all = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lockgw TO app"
	for _, right := range []string{"DELETE ON lockgw.names", "UPDATE ON lockgw.state", "DELETE ON lockgw.nodes", "INSERT ON lockgw.run", "UPDATE ON lockgw.run"} {
		psql(t, s, all+"; REVOKE "+right+" FROM app")
		sqltest.Lacks(t, Examine(t.Context(), app), strings.Fields(right)[0])
	}
	psql(t, s, all)
	sqltest.Lacks(t, Examine(t.Context(), app), "")
}

func TestExamine(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	examine := func() []backend.Finding { return Examine(t.Context(), Config{URL: s.URL()}) }
	sqltest.Examine(t, s, examine, page, "connection", "durability", "messages", "lock", "push")
}

// A lock that has no answer, for the standby is away, does not say why. What is looked at before does.
func TestExamineStandbys(t *testing.T) {
	t.Parallel()
	a, err := parseAddress(pgtest.Start(t, "synchronous_standby_names=away").URL())
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.server.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if f := settings(t.Context(), c)[0]; !strings.HasSuffix(f.Detail, "standbys: away") {
		t.Errorf("%+v, want the standbys that commits wait for", f)
	}
}
