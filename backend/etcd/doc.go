// Package etcd is a store in etcd: a cluster that agrees by consensus on every write, so that
// a minority of its members may be down without a grant being forgotten.
package etcd
