// Package redlock keeps locks in several Redis servers that know nothing of each
// other. A name belongs to whoever a majority of them names, so that a minority may be
// down, slow or empty.
//
// The record of a name is a register that the servers replicate; see package voting. Each
// server keeps its copy as package redis keeps a record, and runs nothing of its own beside
// that. A server that restarted, and may have forgotten, takes no part until the longest
// lease is over.
package redlock
