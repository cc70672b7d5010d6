package conn

import _ "embed"

// StrangerLua is the function stranger of scripts: what tells a lock of a program without
// lockgw from another.
//
//go:embed stranger.lua
var StrangerLua string
