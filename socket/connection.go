package socket

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// maxEcho bounds what is sent back to whoever sent it.
const maxEcho = 64

func connectionCommands() []command {
	return []command{
		{
			name: "HELLO", most: anyNumber, run: hello,
			args:    "[2 | 3 [AUTH default token] [SETNAME name]]",
			summary: "Chooses the version of the protocol, and describes the gateway.",
		},
		{name: "PING", most: 1, run: ping, args: "[message]", summary: "Answers PONG, or the message."},
		{name: "ECHO", least: 1, most: 1, run: echo, args: "message", summary: "Answers the message."},
		{name: "QUIT", most: anyNumber, run: quit, summary: "Closes the connection."},
		{name: "RESET", slow: true, run: reset, summary: "Makes the connection as it was at first; leaves its session."},
		{name: "SELECT", least: 1, most: 1, run: selectDB, args: "0", summary: "Does nothing: there is one database."},
		{
			name: "CLIENT", least: 1, most: anyNumber, run: client,
			args:    "SETINFO attribute value | SETNAME name | GETNAME | ID | INFO | HELP",
			summary: "Describes this connection.",
		},
		{name: "INFO", most: anyNumber, run: info, args: "[section ...]", summary: "Describes the gateway."},
		{
			name: "COMMAND", most: anyNumber, run: describe,
			args:    "[DOCS | COUNT | INFO | HELP] [name ...]",
			summary: "Describes the commands.",
		},
	}
}

// hello changes nothing unless all of it can be done.
func hello(c *conn, args []string) error {
	resp3, token, name, asked := c.w.RESP3, "", c.name, false
	if len(args) > 1 {
		if args[1] != "2" && args[1] != "3" {
			return replyError{"NOPROTO", "unsupported protocol version"}
		}
		resp3 = args[1] == "3"
	}
	o := options{args: args[min(2, len(args)):]}
	for o.next() {
		switch {
		case o.is("AUTH"):
			if user := o.value(); o.err == nil && user != defaultUser {
				o.fail("the user is always %q", defaultUser)
			}
			token, asked = o.value(), true
		case o.is("SETNAME"):
			name = o.value()
		default:
			o.unknown()
		}
	}
	if o.err == nil {
		o.err = checkLabel("setname", name)
	}
	if o.err == nil && asked {
		o.err = c.identify(token)
	}
	if o.err != nil {
		return o.err
	}
	c.w.RESP3, c.name = resp3, name
	c.subs.adapt(c)
	c.watchHolds()
	c.writeHello()
	return nil
}

func (c *conn) writeHello() {
	c.w.Map(7)
	c.pair("server", "lockgw")
	c.pair("version", c.srv.cfg.Version)
	c.pairInt("proto", c.proto())
	c.pairInt("id", c.id)
	c.pair("mode", "standalone")
	c.pair("role", "master")
	c.w.Bulk("modules")
	c.w.Array(0)
}

// proto is the version of the protocol that the connection speaks.
func (c *conn) proto() int64 {
	if c.w.RESP3 {
		return 3
	}
	return 2
}

func ping(c *conn, args []string) error {
	message := ""
	if len(args) == 2 {
		message = args[1]
	}
	switch {
	case len(message) > maxEcho:
		return tooLong(message)
	case c.subs != nil && !c.w.RESP3: // a client in this state expects arrays only
		c.w.Array(2)
		c.w.Bulk("pong")
		c.w.Bulk(message)
	case len(args) == 2:
		c.w.Bulk(message)
	default:
		c.w.Simple("PONG")
	}
	return nil
}

func echo(c *conn, args []string) error {
	if len(args[1]) > maxEcho {
		return tooLong(args[1])
	}
	c.w.Bulk(args[1])
	return nil
}

func tooLong(message string) error {
	return session.Invalid("message", "is %d bytes long, the limit is %d", len(message), maxEcho)
}

func quit(c *conn, _ []string) error {
	c.w.Simple("OK")
	c.goodbye = true
	return nil
}

func reset(c *conn, _ []string) error {
	c.unsubscribeAll()
	c.leave("connection reset by its client")
	c.w.RESP3, c.name, c.by, c.multi = false, "", access.Of(c.nc, c.peer), false
	c.w.Simple("RESET")
	return nil
}

func selectDB(c *conn, args []string) error {
	if args[1] != "0" {
		return session.Invalid("index", "is out of range: there is database 0 only")
	}
	c.w.Simple("OK")
	return nil
}

func client(c *conn, args []string) error {
	sub, rest := strings.ToUpper(args[1]), args[2:]
	want, known := map[string]int{"SETINFO": 2, "SETNAME": 1, "GETNAME": 0, "ID": 0, "INFO": 0, "HELP": 0}[sub]
	switch {
	case !known:
		return unknownSubcommand("CLIENT", args[1])
	case len(rest) != want:
		return wrongArguments("client|" + sub)
	}
	switch sub {
	case "SETINFO":
		return c.setInfo(rest[0], rest[1])
	case "SETNAME":
		if err := checkLabel("name", rest[0]); err != nil {
			return err
		}
		c.name = rest[0]
		c.w.Simple("OK")
	case "GETNAME":
		if c.name == "" {
			c.w.Null()
			return nil
		}
		c.w.Bulk(c.name)
	case "ID":
		c.w.Int(c.id)
	case "INFO":
		c.w.Bulk(c.describe())
	case "HELP":
		c.help("CLIENT")
	}
	return nil
}

func (c *conn) setInfo(attribute, value string) error {
	if err := checkLabel(strings.ToLower(attribute), value); err != nil {
		return err
	}
	switch strings.ToUpper(attribute) {
	case "LIB-NAME":
		c.library = value
	case "LIB-VER":
		c.version = value
	default:
		return session.Invalid("attribute", "%s is not one of LIB-NAME, LIB-VER", session.Quote(attribute))
	}
	c.w.Simple("OK")
	return nil
}

// checkLabel: what is shown in a line of words may not look like more of them.
func checkLabel(field, s string) error {
	const most = 64
	if len(s) > most || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || tricky(r) || r == unicode.ReplacementChar }) {
		return session.Invalid(field, "must be at most %d characters without blanks", most)
	}
	return nil
}

// describe is the line of CLIENT INFO.
func (c *conn) describe() string {
	return fmt.Sprintf("id=%d name=%s age=%d db=0 resp=%d lib-name=%s lib-ver=%s pid=%d uid=%d session=%s\n",
		c.id, c.name, int64(time.Since(c.since).Seconds()), c.proto(), c.library, c.version, c.peer.PID, c.peer.UID, c.sessionID())
}
