package engine

// Names is how many names are in use or remembered.
func (e *Engine) Names() int { return len(e.all()) }

// Title is what the lock is called.
func (n *Name) Title() string { return n.name }
