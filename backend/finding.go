package backend

// Finding is what was found out about one thing by who examines a store. It fails if locks do
// not work, and is a warning if they work, but less well than they could.
type Finding struct {
	Check         string // what was looked at, a word or two
	Detail        string
	Remedy        string // what to do about it; "" where nothing has to be done
	Fails, Warned bool
}
