package mysql

import (
	"context"
	"fmt"
	"strconv"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/selftest"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// page is where people read on.
const page = "docs/mysql.md"

// Examine looks for what is wrong with the database that cfg names, and takes a lock that
// nobody else uses and gives it back. cfg.Node is not used.
func Examine(ctx context.Context, cfg Config) []backend.Finding {
	a, err := parseAddress(cfg.URL, cfg.Password)
	if err != nil {
		return []backend.Finding{{Check: "address", Detail: err.Error(), Remedy: "correct backend.url", Fails: true}}
	}
	connecting, cancel := context.WithTimeout(ctx, selftest.ExamineTime)
	defer cancel()
	c, err := connectFirst(connecting, a.hosts)
	if err != nil {
		return []backend.Finding{selftest.Failure("connection", err, page)}
	}
	defer c.Close()
	found := []backend.Finding{connection(c, a)}
	found = append(found, settings(ctx, c)...)
	return append(found, lock(ctx, cfg)...)
}

func connection(c *conn, a address) backend.Finding {
	kind := "MySQL"
	if c.server.maria() {
		kind = "MariaDB"
	}
	h := a.hosts[0]
	f := backend.Finding{Check: "connection", Detail: fmt.Sprintf("%s %s at %s, database %s, user %s", kind, c.server.version, c.server.address, h.DBName, h.User)}
	if c.server.tls {
		f.Detail += ", over TLS"
	}
	return f
}

// settings are those by which a crash may lose more than it has to, and long requests fail.
func settings(ctx context.Context, c *conn) []backend.Finding {
	ctx, cancel := context.WithTimeout(ctx, selftest.ExamineTime)
	defer cancel()
	got, err := c.query(ctx, "SELECT @@max_allowed_packet")
	if err != nil || len(got) != 1 || len(got[0]) != 1 {
		return []backend.Finding{selftest.Failure("settings", outcome(err), page)}
	}
	packet := sqltable.NewReader(got[0][0]).Number()
	f := backend.Finding{Check: "requests", Detail: "max_allowed_packet " + strconv.FormatInt(packet, 10)}
	if packet < maxPacket {
		f.Warned, f.Remedy = true, fmt.Sprintf("SET GLOBAL max_allowed_packet = %d, and put it into the server's configuration: a lock for which many gateways wait could not be written", maxPacket)
	}
	return []backend.Finding{durability(c.server.variables), f}
}

// durability is what a crash of the machine may lose. A server that writes a binary log brings
// back, when it starts, no more than is in it.
func durability(variables map[string]string) backend.Finding {
	logs, syncs := variables["log_bin"], variables["sync_binlog"]
	f := backend.Finding{Check: "durability", Detail: flushAtCommit + " " + variables[flushAtCommit] + ", log_bin " + logs + ", sync_binlog " + syncs}
	if logs == "ON" && syncs != "1" {
		f.Warned, f.Remedy = true, "SET GLOBAL sync_binlog = 1, and put it into the server's configuration: a crash of the machine may lose locks that were granted, and backend.mysql.guard has to keep everybody out for a while"
	}
	return f
}

// lock takes a lock and gives it back, and looks whether messages arrive.
func lock(ctx context.Context, cfg Config) []backend.Finding {
	t, err := OpenTable(cfg.ForDoctor())
	if err != nil {
		return []backend.Finding{selftest.Failure("lock", err, page)}
	}
	defer t.Close()
	return t.TryLock(ctx, page)
}
