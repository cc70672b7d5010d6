package postgres

import "strings"

// layout is the version of the tables. A gateway does not touch a later one.
const layout = 1

// The tables. ends are in microseconds since 1970, as is mark.
//
//	names  a row for each name in use: its record, and its holds with their ends. firm is
//	       false of what is only offered. Rows that nobody uses are deleted
//	state  one row: the layout; mark, above which the fences of a new row begin, so that
//	       they grew even if the clock was set back; and used, the id of the last run that
//	       was trusted, "" if none ever was
//	run    one row, by which this run of the server is trusted; see trust.go
//	nodes  a row for each gateway that listens
//
// No row is put where there is no primary key: a dump that is being read in makes that last.
//
// run and nodes are unlogged: PostgreSQL empties such tables whenever it recovers from a
// crash, takes over as a standby, or is restored from a copy.
const ddl = `
CREATE TABLE IF NOT EXISTS {names} (
	name text COLLATE "C" PRIMARY KEY,
	version bigint NOT NULL,
	record jsonb NOT NULL,
	ids bigint[] NOT NULL,
	firm boolean[] NOT NULL,
	ends bigint[] NOT NULL,
	used timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE TABLE IF NOT EXISTS {state} (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	layout integer NOT NULL,
	mark bigint NOT NULL DEFAULT 0,
	used text NOT NULL DEFAULT ''
);
CREATE UNLOGGED TABLE IF NOT EXISTS {run} (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	id text NOT NULL,
	started timestamptz NOT NULL,
	place oid NOT NULL,
	until timestamptz NOT NULL,
	fresh boolean NOT NULL
);
CREATE UNLOGGED TABLE IF NOT EXISTS {nodes} (
	node text PRIMARY KEY,
	pid integer NOT NULL,
	until timestamptz NOT NULL
);
INSERT INTO {state} (layout) VALUES (1) ON CONFLICT (one) DO NOTHING;
`

// channelOf is the channel of a node's messages, in SQL and in Go.
const channelPrefix = "lockgw_"

// maxNode is the longest id of a node, so that its channel has a name.
const maxNode = 63 - len(channelPrefix)

// clock is what the database says of the time, in microseconds since 1970.
const clock = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

// database is how the id of a run begins that is trusted in this database.
const database = `((SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()) || '/')`

// inSchema puts into SQL the tables of a schema, and what statements have in common.
func inSchema(schema string) func(sql string) string {
	quoted := func(table string) string { return quote(schema) + "." + quote(table) }
	r := strings.NewReplacer(
		"{names}", quoted("names"), "{state}", quoted("state"), "{run}", quoted("run"), "{nodes}", quoted("nodes"),
		"{schema}", quote(schema),
		"{clock}", clock, "{columns}", columns,
		"{trusted}", "r.started = pg_postmaster_start_time() AND r.place = r.tableoid AND starts_with(r.id, {database})",
		"{database}", database,
	)
	return func(sql string) string { return r.Replace(r.Replace(r.Replace(sql))) } // some of them stand in others
}

// serverSQL tells which one it is: no other was started in the same microsecond.
const serverSQL = `extract(epoch FROM pg_postmaster_start_time())::text`

// trustSQL tells of the run of the server, as trust.go needs it.
const trustSQL = `SELECT coalesce(r.id, ''), coalesce({trusted} AND s.used IN ('', r.id), false), coalesce(r.fresh, false),
	coalesce(extract(epoch FROM r.until - clock_timestamp()), 0)::float8, s.used,
	pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint, ` + serverSQL + `
FROM {state} AS s LEFT JOIN {run} AS r ON true`

// trustAnewSQL: $1 end of the id, $2 seconds until it is trusted, $3 fresh, $4 the id that is trusted no
// more, "" if there is none. Of several gateways at the same time the first one counts.
const trustAnewSQL = `WITH anew AS (
	INSERT INTO {run} AS r (id, started, place, until, fresh)
	VALUES ({database} || $1, pg_postmaster_start_time(), '{run}'::regclass, clock_timestamp() + make_interval(secs => $2), $3)
	ON CONFLICT (one) DO UPDATE SET id = excluded.id, started = excluded.started, place = excluded.place, until = excluded.until, fresh = excluded.fresh
	WHERE NOT ({trusted}) OR r.id = $4
	RETURNING r.id
)
UPDATE {state} AS s SET used = anew.id FROM anew`

// suspectSQL: $1 id, $2 seconds until it is trusted at the earliest.
const suspectSQL = `UPDATE {run} AS r SET until = greatest(r.until, clock_timestamp() + make_interval(secs => $2)), fresh = false WHERE r.id = $1`

// hearSQL: $1 node, $2 pid of the backend by which it listens.
const hearSQL = `INSERT INTO {nodes} AS l (node, pid, until) VALUES ($1, $2, clock_timestamp() + interval '15 s')
ON CONFLICT (node) DO UPDATE SET pid = excluded.pid, until = excluded.until`

// beatSQL is hearSQL, and sends $4 to the channel $3.
const beatSQL = `WITH relaxed AS MATERIALIZED (
	SELECT set_config('synchronous_commit', 'off', true)
), l AS (` + hearSQL + ` RETURNING l.node)
SELECT pg_notify($3, $4)::text FROM relaxed, l`

// quote makes an identifier of a name.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

const (
	existsSQL = `SELECT to_regnamespace('{schema}') IS NOT NULL, to_regclass('{names}') IS NULL AND to_regclass('{run}') IS NOT NULL`
	schemaSQL = `CREATE SCHEMA IF NOT EXISTS {schema};`
	// layoutSQL tells none where one of the tables of this layout is missing beside the others.
	layoutSQL = `SELECT layout FROM {state} WHERE layout > 1 OR num_nulls(to_regclass('{names}'), to_regclass('{run}'), to_regclass('{nodes}')) = 0`
	// lostSQL has no run be trusted from before the names were lost.
	lostSQL = `DELETE FROM {run};`
)

// columns of an answer, behind whether the server is trusted: what is there.
const columns = `n.version, n.record::text, n.ids, n.ends, {clock}`

// trusting: the statement, whose $2 is the id of a run of the server, needs none ("") or that
// one, and it is trusted.
const trusting = `($2::text = '' OR EXISTS (SELECT FROM {run} AS r WHERE r.id = $2 AND {trusted} AND r.until <= clock_timestamp()))`

// relaxed: the transaction need not reach the disk before it is answered, if $3 says so.
const relaxed = `CASE WHEN $3 THEN set_config('synchronous_commit', 'off', true) END`

const lookSQL = `SELECT true, {columns} FROM (SELECT) AS one LEFT JOIN {names} AS n ON n.name = $1`

// A swap is one UPDATE, or an INSERT, and nothing around it, which takes PostgreSQL half as long as a
// statement that also tells what is there where nothing was written: then missedSQL asks for that, by
// when a statement that has waited knows what it has waited for.
//
// $1 name, $2 id of the run, $3 relaxed, $4 next version, $5 record, $6 ids, $7 firm, $8 leases
// that begin, in microseconds, or -1, $9 base. Where another transaction has the row, the
// statement waits, and then compares and computes anew with what that one has left.
const (
	set = `UPDATE {names} AS n SET version = $4, record = $5::jsonb, used = clock_timestamp(), ids = $6::bigint[], firm = $7::boolean[], ends = `

	swapWhere = ` WHERE n.name = $1 AND n.version = $9 AND ` + trusting
	swapTells = ` RETURNING true, n.version, NULL, n.ids, n.ends, {clock}, ` + relaxed

	// swapSQL: $10 ids that have to be over.
	swapSQL = set + `ARRAY(
	SELECT CASE WHEN s.ttl >= 0 THEN {clock} + s.ttl
		ELSE coalesce((SELECT o.till FROM unnest(n.ids, n.ends) AS o(id, till) WHERE o.id = s.id), 0) END
	FROM unnest($6::bigint[], $8::bigint[]) WITH ORDINALITY AS s(id, ttl, i) ORDER BY s.i)` + swapWhere + ` AND NOT EXISTS (
	SELECT FROM unnest(n.ids, n.ends) AS o(id, till) WHERE o.id = ANY ($10::bigint[]) AND o.till > {clock})` + swapTells

	// freshSQL is swapSQL where nobody or one has a hold, whose lease begins, and nothing has
	// to be over.
	freshSQL = set + `CASE cardinality($8::bigint[]) WHEN 0 THEN '{}' ELSE ARRAY[{clock} + ($8::bigint[])[1]] END` + swapWhere + swapTells

	// handedSQL is freshSQL with a message: $10 channel, $11 payload, up to the clock.
	handedSQL = freshSQL + `, pg_notify($10::text, $11::text || {clock} || ',"ends":' || array_to_json(n.ends)::text || '}')::text`

	// missedSQL: $1 name, $2 id of the run that a swap needed.
	missedSQL = `SELECT ` + trusting + `, {columns} FROM (SELECT) AS one LEFT JOIN {names} AS n ON n.name = $1`
)

// insertSQL is as swapSQL, where there was no record: $9 is where fences begin at least,
// and $10 that they are as they stand. A row that was there when the statement began is in its way,
// although a sweep may delete it meanwhile: the mark was read before that sweep had raised it.
const insertSQL = `WITH origin AS MATERIALIZED (
	SELECT CASE WHEN $10 THEN 0 ELSE greatest({clock}, $9, (SELECT mark FROM {state})) END AS base
)
INSERT INTO {names} AS n (name, version, record, used, ids, firm, ends)
SELECT $1, $4, jsonb_set($5::jsonb, '{base}', to_jsonb(origin.base)), clock_timestamp(),
	ARRAY(SELECT s.id + origin.base FROM unnest($6::bigint[]) WITH ORDINALITY AS s(id, i) ORDER BY s.i), $7::boolean[],
	ARRAY(SELECT CASE WHEN s.ttl >= 0 THEN {clock} + s.ttl ELSE 0 END FROM unnest($8::bigint[]) WITH ORDINALITY AS s(ttl, i) ORDER BY s.i)
FROM origin WHERE ` + trusting + ` AND NOT EXISTS (SELECT FROM {names} AS was WHERE was.name = $1)
ON CONFLICT (name) DO NOTHING
RETURNING true, {columns}, ` + relaxed

// hears: m.node listens. A gateway whose process has ended has no backend any more.
const hears = `EXISTS (SELECT FROM {nodes} AS l WHERE l.node = m.node AND l.until > clock_timestamp() AND EXISTS (SELECT FROM pg_stat_get_activity(l.pid)))`

// hearsSQL: $1 node. It tells as tellSQL does.
const hearsSQL = `SELECT m.node, NULL, ` + hears + ` FROM (SELECT $1::text AS node) AS m`

// tellSQL sends messages about a name with what is there: $1 name, $2 nodes, $3 headings. It
// tells who does not hear them.
const tellSQL = `SELECT m.node,
	set_config('synchronous_commit', 'off', true),
	` + hears + `,
	pg_notify('` + channelPrefix + `' || m.node, CASE WHEN octet_length(m.head) + octet_length(n.text) < 7990 THEN m.head || ' ' || n.text ELSE m.head END)::text
FROM unnest($2::text[], $3::text[]) AS m(node, head), (
	SELECT jsonb_build_object('version', n.version, 'clock', {clock}, 'ids', to_jsonb(n.ids), 'ends', to_jsonb(n.ends), 'record', n.record)::text AS text
	FROM {names} AS n WHERE n.name = $1 UNION ALL SELECT '' LIMIT 1
) AS n`

const sendSQL = `SELECT set_config('synchronous_commit', 'off', true), pg_notify(m.channel, m.payload)::text FROM unnest($1::text[], $2::text[]) AS m(channel, payload)`

// renewSQL: $1 names, each once, $2 ids, $3 leases in microseconds. The rows are locked in
// the order of their names, lest two gateways that share several of them wait for each other. It tells
// what is left of each lease then: a trigger may have put it back.
const renewSQL = `WITH w AS MATERIALIZED (
	SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS w(name, id, ttl)
), locked AS MATERIALIZED (
	SELECT n.name FROM {names} AS n WHERE n.name = ANY ($1::text[]) ORDER BY n.name FOR NO KEY UPDATE
)
UPDATE {names} AS n SET ends = ARRAY(
	SELECT CASE WHEN o.id = w.id THEN greatest(o.till, {clock} + w.ttl) ELSE o.till END
	FROM unnest(n.ids, n.ends) WITH ORDINALITY AS o(id, till, i) ORDER BY o.i)
FROM w JOIN locked USING (name)
WHERE n.name = w.name AND EXISTS (SELECT FROM unnest(n.ids, n.firm) AS o(id, firm) WHERE o.id = w.id AND o.firm)
RETURNING n.name, (SELECT o.till - {clock} FROM unnest(n.ids, n.ends) AS o(id, till) WHERE o.id = w.id)`

// renewFreeSQL is renewSQL of those rows alone that nobody has locked.
var renewFreeSQL = strings.Replace(renewSQL, "FOR NO KEY UPDATE", "FOR NO KEY UPDATE SKIP LOCKED", 1)

// listSQL: $1 prefix, $2 above every name that begins with it, $3 the last name told, $4 limit.
const listSQL = `SELECT n.name, {columns} FROM {names} AS n
WHERE n.name >= $1 AND n.name < $2 AND n.name > $3 AND starts_with(n.name, $1) AND (cardinality(n.ids) > 0 OR n.record ? 'queue')
ORDER BY n.name LIMIT $4`

// rightsSQL are those of sqltable.Database.
var rightsSQL = []string{
	"DELETE FROM {names} WHERE false", "UPDATE {state} SET mark = mark WHERE false", "DELETE FROM {nodes} WHERE false",
	"INSERT INTO {run} SELECT * FROM {run} WHERE false", "UPDATE {run} SET until = until WHERE false",
}

// newestSQL tells the newest fence of all rows, those that were deleted with them.
const newestSQL = `SELECT greatest(s.mark, (
	SELECT max((n.record->>'top')::bigint + coalesce((n.record->>'base')::bigint, 0)) FROM {names} AS n
)) FROM {state} AS s`

// sweepSQL deletes rows of which nothing was heard for a while. $1 is how long, $2 how many. One in
// whose queue somebody listens stays, for a quarantine may last longer; and one whose fences are no
// numbers of ours, lest it be in the way of all others.
const sweepSQL = `WITH idle AS MATERIALIZED (
	SELECT n.name FROM {names} AS n
	WHERE n.used < clock_timestamp() - make_interval(secs => $1)
		AND NOT EXISTS (SELECT FROM unnest(n.ends) AS e(till) WHERE e.till > {clock} - $1 * 1000000)
		AND NOT EXISTS (SELECT FROM {nodes} AS l WHERE l.until > clock_timestamp() AND n.record->'queue' @> jsonb_build_array(jsonb_build_object('node', l.node)))
		AND n.record->>'top' ~ '^[0-9]{1,16}$' AND coalesce(n.record->>'base', '0') ~ '^[0-9]{1,16}$'
	LIMIT $2 FOR UPDATE SKIP LOCKED
), left_over AS (
	DELETE FROM {nodes} AS l WHERE l.until < clock_timestamp() - interval '1 h'
), gone AS (
	DELETE FROM {names} AS n USING idle WHERE n.name = idle.name
	RETURNING (n.record->>'top')::bigint + coalesce((n.record->>'base')::bigint, 0) AS top
)
UPDATE {state} AS s SET mark = greatest(s.mark, {clock}, (SELECT max(top) FROM gone)) WHERE EXISTS (SELECT FROM gone)
RETURNING (SELECT count(*) FROM gone)`
