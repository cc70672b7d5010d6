// Package socket is the low-latency front of the gateway: the Redis protocol on a
// Unix socket, so that redis-cli, nc and every Redis client library can lock, and
// Go programs with package client. It translates: who gets a lock, and when a hold
// is over, is decided in package session.
//
// A connection is a session, or one of several connections of a session. It is
// closed when every process that has it has closed it: a child that inherited it
// keeps its parent's locks.
//
// A connection has to be read while a command waits for a lock, because the
// hang-up of the client ends the wait. But a second goroutine that reads would
// cost every command a switch between the two, and most commands are answered in
// less time than that takes. So one goroutine reads a command, executes it and
// writes the answer, and only when that has taken a moment (patience, twice as long at
// most), another goroutine goes on reading. What it reads is queued; the first goroutine
// answers it after its own command, in order, and ends. At any time one goroutine reads
// and one executes; mostly they are the same, and a hang-up is noticed late by
// that moment at most.
//
// A LOCK that has to stand in the queue of its name needs neither of them (park). Its
// goroutine, whose stack has grown by then, ends, and unless another one reads already a new
// one does; what that reads is queued as above. When the wait is over, session.Waiter starts a goroutine, which is from then on the
// one that executes: it writes the answer and what was queued. So a caller that waits has
// one goroutine. A LOCK with REQ, and one that follows another LOCK of its session and
// thread, block as commands that ask the store do. What may happen at the same time:
//
//   - Grant, end of WAIT, hang-up, end of the session, draining: whatever comes only has
//     somebody look, one at a time, and the first look that finds an end is the only one.
//   - Hang-up, or a broken command, during the wait: the goroutine that reads ends, and
//     cancels the wait, which leaves the queue of the name at once. Nothing is closed before
//     the goroutine that executes has seen that: it closes, as behind every slow command.
//   - Hang-up after the grant, before the answer: the lock is released (writeLock), unless
//     the request has an id. A session whose last connection this was releases it anyway.
//   - A command that comes as the wait ends: conn.mu decides whether it is queued, and then
//     the goroutine that executes takes it, or is executed by the one that reads.
//   - Shutdown: a LOCK that waits counts as a goroutine of the Server until it is answered.
//   - A panic after the wait is answered as one in a command, and the lock is released.
//
// Answers are collected until nothing is left to be executed and leave in one
// write. Messages that answer nothing (of subscriptions, of holds in trouble) are
// added between whole answers.
package socket
