// Package ledger has the rules by which a store grants a lock. It is pure: no
// clock, no I/O, no goroutine, no order of maps.
//
// For each name a store keeps one Record: who holds the name, who was offered it,
// which nodes wait, and the newest fence. A node that wants something computes with
// Step the record that should be there, and has the store put it in place of the
// one it saw: a compare-and-set. All rules about who may hold and who is next stand
// in Step; a store (a Table) compares, writes and publishes, and knows none of them.
//
// A request that arrives late carries a version that is gone, and does nothing.
// That is why a write needs no number, and why a node may repeat what it likes.
//
// A contender is a node, never a caller: how the callers of a node share what the
// node holds is package contender. A node holds a name exclusively, shared, or with
// some permits of a semaphore. A node that lets go offers the name to the next one;
// only a write of that node's own turns the offer into a hold.
//
// The end of a hold is kept beside the record, because a renewal changes it without
// a new version: else a node that waits and one that renews would spoil each
// other's writes for ever.
package ledger
