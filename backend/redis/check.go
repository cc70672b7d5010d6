package redis

// Eviction is what a Redis server does when its memory is full.
type Eviction struct {
	MaxMemory uint64 // bytes; 0: no limit
	Policy    string // maxmemory-policy; "": the server does not say
	Server    string // which of a cluster's; "": there is one alone
}
