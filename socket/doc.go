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
// writes the answer, and only when that has taken a moment (patience), another
// goroutine goes on reading. What it reads is queued; the first goroutine answers
// it after its own command, in order, and ends. At any time one goroutine reads
// and one executes; mostly they are the same, and a hang-up is noticed late by
// that moment at most.
//
// Answers are collected until nothing is left to be executed and leave in one
// write. Messages that answer nothing (of subscriptions, of holds in trouble) are
// added between whole answers.
package socket
