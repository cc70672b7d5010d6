package engine

// Path is how a caller came to what it was granted.
type Path string

// The paths.
const (
	// Direct: by the answer of the store to a request that a caller was the cause of.
	Direct Path = "answer"
	// Local: it was let in under a hold that was there.
	Local Path = "local"
	// Push: a message from the store led to the request.
	Push Path = "push"
	// Poll: a timer led to the request.
	Poll Path = "poll"
)
