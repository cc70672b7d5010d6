package redis

import (
	"crypto/sha1"
	"encoding/hex"
)

// script is Lua as Redis runs it. It needs Redis 7, which reads the first line.
type script struct {
	source string
	sha    string // the name by which Redis knows source once it has seen it
}

// newScript puts a script together from what all scripts share and a body of its
// own. flags are those of Redis' script header, separated by commas: without
// "allow-oom" Redis refuses the script while it is out of memory, even one that
// only deletes.
func newScript(flags, common, body string) *script {
	header := "#!lua"
	if flags != "" {
		header += " flags=" + flags
	}
	source := header + "\n" + common + "\n" + body
	sum := sha1.Sum([]byte(source)) // Redis' choice; it guards against nothing
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}
