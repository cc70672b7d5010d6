// Package conn reads the addresses of Redis servers, connects to them and reads what
// scripts answer: one server, the master that Sentinels name, or a cluster, with TLS or
// without. It knows no locks; stores that keep locks in Redis build on it.
package conn
