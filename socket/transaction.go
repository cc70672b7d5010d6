package socket

import (
	"fmt"
	"strings"
)

// transaction is what a client takes for one: from a MULTI, which is unknown here, to its EXEC or
// DISCARD. Libraries send all of it at once, so what stands in it comes after MULTI was refused.
// It must not be carried out: the client is told that nothing was, and would not know that its
// connection, which goes back into a pool, holds a lock.
type transaction bool

// check refuses what stands in the transaction.
func (t transaction) check(cmd *command) error {
	if !t || cmd == unknown || cmd.name == "RESET" || cmd.name == "QUIT" {
		return nil
	}
	return replyError{"ERR", fmt.Sprintf("'%s' is not carried out: it follows a MULTI, and there are no transactions here; EXEC or DISCARD ends this one", strings.ToLower(cmd.name))}
}

// unknown is the answer to a command that is not in the table: nil is OK.
func (t *transaction) unknown(args []string) error {
	switch name := strings.ToUpper(args[0]); {
	case name == "MULTI":
		*t = true
	case name == "EXEC" && bool(*t):
		*t = false
		return replyError{"EXECABORT", "Transaction discarded because of previous errors."}
	case name == "DISCARD" && bool(*t):
		*t = false
		return nil
	}
	return unknownCommand(args)
}
