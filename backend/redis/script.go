package redis

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
)

// script is Lua as Redis runs it. It needs Redis 7, which reads the first line.
type script struct {
	source string
	sha    string // the name by which Redis knows source once it has seen it
	byHash bool   // it is never sent in full: who does not know it must not run it
}

// newScript puts a script together from what it shares with others and what is its
// own. flags are those of Redis' script header, separated by commas: without
// "allow-oom" Redis refuses the script while it is out of memory, even one that
// only deletes.
func newScript(flags string, parts ...string) *script {
	header := "#!lua"
	if flags != "" {
		header += " flags=" + flags
	}
	source := header + "\n" + strings.Join(parts, "\n")
	sum := sha1.Sum([]byte(source)) // Redis' choice; it guards against nothing
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}
