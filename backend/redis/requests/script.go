package requests

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
)

// Script is Lua as Redis runs it. It needs Redis 7, which reads the first line.
type Script struct {
	Source string
	sha    string // the name by which Redis knows Source once it has seen it
	byHash bool   // it is never sent in full: who does not know it must not run it
}

// NewScript puts a script together from what it shares with others and what is its
// own. flags are those of Redis' script header, separated by commas: without
// "allow-oom" Redis refuses the script while it is out of memory, even one that
// only deletes.
func NewScript(flags string, parts ...string) *Script {
	header := "#!lua"
	if flags != "" {
		header += " flags=" + flags
	}
	source := header + "\n" + strings.Join(parts, "\n")
	sum := sha1.Sum([]byte(source)) // Redis' choice; it guards against nothing
	return &Script{Source: source, sha: hex.EncodeToString(sum[:])}
}

// NewScriptByHash is a script that is never sent in full: a server that was not given it
// before refuses it.
func NewScriptByHash(flags string, parts ...string) *Script {
	s := NewScript(flags, parts...)
	s.byHash = true
	return s
}
