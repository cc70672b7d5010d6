package socket

import (
	"fmt"
	"strings"
)

// command is a row of the command table.
type command struct {
	name string
	// least and most are how many arguments may follow the name.
	least, most int
	// slow: may ask the store or wait, so that the connection has to be read
	// meanwhile.
	slow    bool
	args    string // usage, for people
	summary string
	run     func(c *conn, args []string) error
}

const anyNumber = 1 << 10

func commandTable() map[string]*command {
	table := map[string]*command{}
	for _, group := range [][]command{lockCommands(), sessionCommands(), channelCommands(), adminCommands(), connectionCommands()} {
		for i := range group {
			table[group[i].name] = &group[i]
		}
	}
	return table
}

// unknown is run for every command that is not in the table.
var unknown = &command{name: "unknown", most: anyNumber, run: func(c *conn, args []string) error {
	err := c.multi.unknown(args)
	if err == nil {
		c.w.Simple("OK")
	}
	return err
}}

func (s *Server) lookup(name string) *command {
	var upper [16]byte
	if len(name) > len(upper) {
		return unknown
	}
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper[i] = c
	}
	if cmd, ok := s.commands[string(upper[:len(name)])]; ok {
		return cmd
	}
	return unknown
}

// check says why a command cannot be executed, before it is looked at closely.
func (c *conn) check(cmd *command, args []string) error {
	if err := c.multi.check(cmd); err != nil {
		return err
	}
	if n := len(args) - 1; n < cmd.least || n > cmd.most {
		return wrongArguments(args[0])
	}
	if cmd != unknown && c.subs != nil && !c.w.RESP3 && !whileSubscribed(cmd.name) {
		return replyError{"ERR", fmt.Sprintf("Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context", strings.ToLower(cmd.name))}
	}
	return nil
}

func wrongArguments(name string) error {
	return replyError{"INVALID", fmt.Sprintf("wrong number of arguments for '%s' command", strings.ToLower(name))}
}

// unknownCommand answers in the words of Redis, by which client libraries recognize
// that a server lacks a command.
func unknownCommand(args []string) error {
	const most = 128
	var rest strings.Builder
	for _, arg := range args[1:] {
		if rest.Len() >= most {
			break
		}
		fmt.Fprintf(&rest, "'%s' ", cut(arg, most-rest.Len()))
	}
	return replyError{"ERR", fmt.Sprintf("unknown command '%s', with args beginning with: %s", cut(args[0], most), rest.String())}
}

func unknownSubcommand(command, sub string) error {
	return replyError{"ERR", fmt.Sprintf("unknown subcommand '%s'. Try %s HELP.", cut(sub, 128), command)}
}

func cut(s string, most int) string {
	s, _, _ = strings.Cut(s[:min(len(s), most)], "\x00")
	return s
}
