package socket

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// redisVersion is the version of Redis whose commands this front answers as far
// as it knows them. Client libraries choose what they send by it.
const redisVersion = "7.4.0"

// info answers INFO as Redis does: each section that is asked for, once and in the order here; nothing
// for a section that there is not.
func info(c *conn, args []string) error {
	asked := func(name string) bool {
		return slices.ContainsFunc(args[1:], func(a string) bool { return strings.EqualFold(a, name) })
	}
	all := len(args) == 1 || asked("all") || asked("default") || asked("everything")
	s := c.srv
	s.mu.Lock()
	conns := len(s.conns)
	s.mu.Unlock()
	stats := s.cfg.Manager.Stats()
	uptime := int64(time.Since(s.started).Seconds())
	var b strings.Builder
	section := func(name string, lines ...any) {
		if !all && !asked(name) {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		fmt.Fprintf(&b, "# %s\r\n", name)
		for i := 0; i < len(lines); i += 2 {
			fmt.Fprintf(&b, "%s:%v\r\n", lines[i], lines[i+1])
		}
	}
	section("Server", "redis_version", redisVersion, "redis_mode", "standalone", "lockgw_version", s.cfg.Version,
		"process_id", os.Getpid(), "tcp_port", 0, "uptime_in_seconds", uptime)
	section("Clients", "connected_clients", conns)
	section("Persistence", "loading", 0)
	section("Replication", "role", "master", "connected_slaves", 0)
	section("Lockgw", "sessions", stats.Sessions, "holds", stats.Holds, "waiters", stats.Waiters,
		"backend", s.cfg.Manager.Info().Type, "node", s.cfg.Manager.Config().Node, "store", s.cfg.Manager.Config().Store,
		"reach", s.cfg.Manager.Info().Reach())
	c.w.Bulk(b.String())
	return nil
}

// describe answers COMMAND: what redis-cli completes and shows help from.
func describe(c *conn, args []string) error {
	if len(args) == 1 {
		c.writeCommands(c.srv.sorted())
		return nil
	}
	switch sub, names := strings.ToUpper(args[1]), args[2:]; {
	case sub == "COUNT" && len(names) == 0:
		c.w.Int(int64(len(c.srv.commands)))
		return nil
	case sub == "COUNT":
		return wrongArguments("command|count")
	case sub == "HELP" && len(names) == 0:
		c.help("COMMAND")
		return nil
	case sub == "HELP":
		return wrongArguments("command|help")
	case sub == "INFO":
		c.writeCommands(c.srv.named(names))
		return nil
	case sub == "DOCS":
		known := slices.DeleteFunc(c.srv.named(names), func(cmd *command) bool { return cmd == unknown })
		c.w.Map(len(known))
		for _, cmd := range known {
			c.writeDocs(cmd)
		}
		return nil
	default:
		return unknownSubcommand("COMMAND", args[1])
	}
}

// help answers HELP of a command, to which unknownSubcommand sends whoever is wrong about it.
func (c *conn) help(command string) {
	cmd := c.srv.commands[command]
	c.w.Array(2)
	c.w.Simple(command + " " + cmd.args)
	c.w.Simple(cmd.summary)
}

func (c *conn) writeCommands(all []*command) {
	c.w.Array(len(all))
	for _, cmd := range all {
		c.writeCommand(cmd)
	}
}

func (s *Server) sorted() []*command {
	return slices.SortedFunc(maps.Values(s.commands), func(a, b *command) int { return strings.Compare(a.name, b.name) })
}

// named is all commands if there are no names.
func (s *Server) named(names []string) (all []*command) {
	if len(names) == 0 {
		return s.sorted()
	}
	for _, name := range names {
		all = append(all, s.lookup(name))
	}
	return all
}

// writeCommand writes what COMMAND tells of a command: name, arity, flags, the
// positions of keys (there are none to Redis' mind), and four empty lists.
func (c *conn) writeCommand(cmd *command) {
	if cmd == unknown {
		c.w.Null()
		return
	}
	c.w.Array(10)
	c.w.Bulk(strings.ToLower(cmd.name))
	arity := int64(cmd.least + 1)
	if cmd.most != cmd.least {
		arity = -arity
	}
	c.w.Int(arity)
	flags := []string{"fast"}
	if cmd.slow {
		flags = []string{"write", "blocking"}
	}
	c.w.Array(len(flags))
	for _, f := range flags {
		c.w.Simple(f)
	}
	for range 3 {
		c.w.Int(0)
	}
	for range 4 {
		c.w.Array(0)
	}
}

func (c *conn) writeDocs(cmd *command) {
	c.w.Bulk(strings.ToLower(cmd.name))
	c.w.Map(4)
	c.pair("summary", cmd.summary)
	c.pair("since", "1.0.0")
	c.pair("group", "lockgw")
	c.w.Bulk("arguments")
	if cmd.args == "" {
		c.w.Array(0)
		return
	}
	c.w.Array(1)
	c.w.Map(2)
	c.pair("name", cmd.args)
	c.pair("type", "string")
}
