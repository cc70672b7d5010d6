package mysql

import (
	"context"
	"strings"
)

// layout is the version of the tables. A gateway does not touch a later one.
const layout = 1

// The tables. Times are in microseconds since 1970, as is mark.
//
//	lockgw_names  a row for each name in use: its record, and its holds with their ends (see
//	              ends.go). busy: somebody holds it or waits. Rows that nobody uses are deleted
//	lockgw_state  one row: the layout; mark, above which the fences of a new row begin, so that
//	              they grew even if the clock was set back; and the run of the server by which
//	              it is trusted (see trust.go), '' if none ever was
//	lockgw_nodes  a row for each gateway that sleeps in the database, with the connection on
//	              which it does; 0: it looks for its mail by itself
//	lockgw_mail   messages that were not fetched yet
var ddl = []string{
	`CREATE TABLE IF NOT EXISTS lockgw_names (
	name varbinary(600) NOT NULL PRIMARY KEY,
	version bigint NOT NULL,
	record mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	ends mediumblob NOT NULL,
	busy tinyint NOT NULL,
	used bigint NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC`,
	`CREATE TABLE IF NOT EXISTS lockgw_state (
	one tinyint NOT NULL PRIMARY KEY,
	layout int NOT NULL,
	mark bigint NOT NULL,
	run varbinary(64) NOT NULL,
	server varbinary(512) NOT NULL,
	until bigint NOT NULL,
	fresh tinyint NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC`,
	`CREATE TABLE IF NOT EXISTS lockgw_nodes (
	node varbinary(64) NOT NULL PRIMARY KEY,
	server varbinary(512) NOT NULL,
	thread bigint unsigned NOT NULL,
	until bigint NOT NULL,
	beats bigint NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC`,
	`CREATE TABLE IF NOT EXISTS lockgw_mail (
	id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
	node varbinary(64) NOT NULL,
	kind tinyint NOT NULL,
	name varbinary(600) NOT NULL,
	body blob NOT NULL,
	sent bigint NOT NULL,
	KEY of_node (node)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC`,
	`INSERT INTO lockgw_state (one, layout, mark, run, server, until, fresh) VALUES (1, 1, 0, '', '', 0, 0) ON DUPLICATE KEY UPDATE one = one`,
}

// maxNode is the longest id of a node.
const maxNode = 64

// clock is what the server says of the time, in microseconds since 1970. The session keeps UTC.
const clock = "TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', SYSDATE(6))"

// begin is how a request of several writes begins that are carried out together.
const begin = "START TRANSACTION;\n"

func of(sql string) string {
	return strings.NewReplacer("{clock}", clock, "{there}", there).Replace(sql)
}

// leads says of a connection that leads where it led whether the server is read-only; otherwise NULL.
// writes is true if it is not: an administrator may write all the same.
const (
	leads  = "IF({guard}, CONCAT(@@read_only), NULL)"
	writes = "{guard} AND CONCAT(@@read_only) IN ('0', 'OFF')"
)

// there are the columns of an answer about a name: what is there, the time, leads, and which run is
// trusted, if it is.
const there = "n.version, n.record, n.ends, {clock}, " + leads + ", IF(s.until <= {clock}, s.run, '')"

var (
	// layoutSQL tells none where one of the tables of this layout is missing beside the others.
	layoutSQL = "SELECT layout FROM lockgw_state WHERE layout > 1 OR (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('lockgw_names', 'lockgw_nodes', 'lockgw_mail')) = 3"
	// lostSQL has no run be trusted from before the names were lost.
	lostSQL = "UPDATE lockgw_state SET run = 'lost', server = '' WHERE run <> '' AND NOT EXISTS (SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'lockgw_names')"

	// lookSQL: name. Nothing is written.
	lookSQL = of(of("SELECT 0, {there} FROM lockgw_state AS s LEFT JOIN lockgw_names AS n ON n.name = ? WHERE s.one = 1"))

	// wroteSQL follows a write of a name, in the same request.
	wroteSQL = strings.Replace(lookSQL, "0", "ROW_COUNT() = 1", 1)

	// trustedSQL: id of the run that a write needs; and notBackSQL.
	trustedSQL = of(" AND EXISTS (SELECT 1 FROM lockgw_state AS s WHERE s.run = ? AND s.until <= {clock})") + notBackSQL
	// notBackSQL: n, node, n, where n is the number of the newest sign of life that the database has had.
	// It has not lost that, as it has by a dump from before.
	notBackSQL = " AND (? = 0 OR EXISTS (SELECT 1 FROM lockgw_nodes AS l WHERE l.node = ? AND l.beats >= ?))"

	// listSQL: prefix, above every name that begins with it, the last name told, limit. Only
	// names are sorted: MariaDB 10.11 crashes now and then over the table that it makes to sort
	// rows with records.
	listSQL = of(of(`SELECT n.name, {there} FROM (
	SELECT name FROM lockgw_names WHERE name >= ? AND name < ? AND name > ? AND busy ORDER BY name LIMIT ?
) AS w STRAIGHT_JOIN lockgw_names AS n ON n.name = w.name STRAIGHT_JOIN lockgw_state AS s ON s.one = 1`))

	// postSQL: node, kind, body, name, and the version that was written.
	postSQL = of("INSERT INTO lockgw_mail (node, kind, body, name, sent) SELECT ?, ?, ?, n.name, {clock} FROM lockgw_names AS n WHERE n.name = ? AND n.version = ?")

	// sendSQL is followed by rows of node, kind, body, name.
	sendSQL  = "INSERT INTO lockgw_mail (node, kind, body, name, sent) VALUES "
	sendEach = of("(?, ?, ?, ?, {clock})")

	// bellsSQL is followed by nodes: where they sleep.
	bellsSQL = of("SELECT node, server, thread FROM lockgw_nodes WHERE until > {clock} AND node IN ")

	// napSQL takes a lock of the server, for which another connection of the gateway waits.
	napSQL = "SET SESSION wait_timeout = 31536000;\nSELECT GET_LOCK('%s', 0)"
	// sleepSQL: node. Of the %s the first is the lock of the nap, the last what has been
	// fetched. It is no SLEEP(): in MariaDB 10.11 one that ends just when a KILL QUERY comes
	// for it waits for who has sent that, who waits for it, for two seconds; and nobody else
	// can sleep, or connect, meanwhile (THD::abort_current_cond_wait, send_kill_message).
	sleepSQL = "SELECT GET_LOCK('%s', %d) FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM lockgw_mail WHERE node = ? AND id NOT IN (%s))"

	// fetchSQL: node; what has been fetched stands for the %s, fetchMost for the %d. It does not
	// sort: MariaDB 10.11 crashes now and then over the table that it makes for that.
	fetchSQL = of(of("SELECT m.id, m.kind, m.name, m.body, {there} FROM lockgw_mail AS m STRAIGHT_JOIN lockgw_state AS s ON s.one = 1 LEFT JOIN lockgw_names AS n ON n.name = m.name WHERE m.node = ? AND m.id NOT IN (%s) LIMIT %d"))

	// hearSQL: node, server, thread, n; n, server; n, thread; n; n, where n is the number of
	// the sign of life. One with a smaller number than what is there changes nothing.
	hearSQL = of(`INSERT INTO lockgw_nodes (node, server, thread, beats, until) VALUES (?, ?, ?, ?, {clock} + 15000000)
ON DUPLICATE KEY UPDATE server = IF(beats < ?, ?, server), thread = IF(beats < ?, ?, thread), until = IF(beats < ?, {clock} + 15000000, until), beats = GREATEST(beats, ?)`)
	// stillHearSQL: server, thread, n, node, n, and the number of one that the database has had. It is
	// hearSQL where that is not lost.
	stillHearSQL = of("UPDATE lockgw_nodes SET server = ?, thread = ?, until = {clock} + 15000000, beats = ? WHERE node = ? AND beats < ? AND beats >= ?")
	// beatsSQL: node.
	beatsSQL = "SELECT beats FROM lockgw_nodes WHERE node = ?"
	// deafSQL: node, thread. The row stays as long as any other, for who comes back looks for its number.
	deafSQL = of("UPDATE lockgw_nodes SET until = LEAST(until, {clock}) WHERE node = ? AND thread IN (?, 0)")

	// trustSQL: node. The row tells of the run that is trusted, as trust.go needs it.
	trustSQL = of(`SELECT s.run, s.server, s.fresh, s.until - {clock}, IFNULL(l.beats, 0), ` + statusOf("Queries") + `
FROM lockgw_state AS s LEFT JOIN lockgw_nodes AS l ON l.node = ?`)

	// trustAnewSQL: id, server, microseconds until it is trusted, fresh; and the id and server
	// that were there. Of several gateways at the same time the first one counts.
	trustAnewSQL = of("UPDATE lockgw_state SET run = ?, server = ?, until = {clock} + ?, fresh = ? WHERE run = ? AND server = ?")

	// suspectSQL: microseconds until it is trusted at the earliest, id.
	suspectSQL = of("UPDATE lockgw_state SET until = GREATEST(until, {clock} + ?), fresh = 0 WHERE run = ?")

	// rightsSQL are those of sqltable.Database.
	rightsSQL = []string{
		"DELETE FROM lockgw_names WHERE name = ''", "UPDATE lockgw_state SET mark = mark WHERE one = 0", "DELETE FROM lockgw_nodes WHERE node = ''",
		"INSERT INTO lockgw_mail SELECT * FROM lockgw_mail WHERE id = 0", "DELETE FROM lockgw_mail WHERE id = 0",
	}

	// newestSQL tells the newest fence of all rows, those that were deleted with them.
	newestSQL = `SELECT GREATEST(s.mark, IFNULL((
	SELECT MAX(CAST(JSON_EXTRACT(n.record, '$.top') AS UNSIGNED) + CAST(IFNULL(JSON_EXTRACT(n.record, '$.base'), 0) AS UNSIGNED)) FROM lockgw_names AS n
), 0)) FROM lockgw_state AS s`

	// idleSQL: twice for how long, the last name that was looked at, how many. It looks at the first hold
	// alone. The names come in the order of the rows, so that nothing is sorted.
	idleSQL = of("SELECT name, version, record, ends, {clock} FROM lockgw_names WHERE used < {clock} - ? AND (ends = '' OR CAST(SUBSTRING(ends, 19, 16) AS SIGNED) < {clock} - ?) AND name > ? ORDER BY name LIMIT ?")
	// listeningSQL tells who sleeps in the database, or looks for mail.
	listeningSQL = of("SELECT node FROM lockgw_nodes WHERE until > {clock}")
	// goneSQL: name, version, ends.
	goneSQL = "DELETE FROM lockgw_names WHERE name = ? AND version = ? AND ends = ?"
	// markSQL: the newest fence that goes.
	markSQL = of("UPDATE lockgw_state SET mark = GREATEST(mark, {clock}, ?)")
	// leftSQL: what nobody fetches, and who does not come back.
	leftSQL = []string{
		of("DELETE FROM lockgw_mail WHERE sent < {clock} - 60000000 LIMIT 1000"),
		of("DELETE FROM lockgw_nodes WHERE until < {clock} - 259200000000"),
	}
)

// statusOf is what the server says of itself, which MySQL and MariaDB keep in different places.
func statusOf(variable string) string {
	return "(SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM /*M! information_schema.GLOBAL_STATUS */ /*!80000 performance_schema.global_status */ WHERE VARIABLE_NAME = '" + variable + "')"
}

// marks are n question marks in brackets.
func marks(n int) string {
	return "(" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")"
}

// create makes those tables that are not there. Each statement does nothing if it was done.
func (t *Table) create(ctx context.Context) error {
	if err := outcome(t.requests.do(ctx, lostSQL)); err != nil && !is(err, missing) {
		return err
	}
	for _, sql := range ddl {
		if err := again(ctx, func() error { return t.requests.do(ctx, sql) }); err != nil {
			return err
		}
	}
	return nil
}
