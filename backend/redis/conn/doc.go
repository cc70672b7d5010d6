// Package conn reads the addresses of Redis servers and connects to them, be it one server,
// the master that Sentinels name, or a cluster, with TLS or without. It reads what scripts
// answer, and tells by an error whether a request may have been carried out. It knows no
// locks; stores that keep locks in Redis build on it.
package conn
