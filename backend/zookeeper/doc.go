// Package zookeeper is a store in ZooKeeper: an ensemble that agrees on every write, so that
// a minority of its members may be down without a grant being forgotten.
//
// A gateway has one session. A znode that lives as long as the session proves that the
// gateway does, and whoever takes a name from a dead one proves in the same write that the
// znode is gone.
package zookeeper
