package redis

// For tests that need the packages which use this one.
var (
	Outcome      = outcome
	NeededRights = neededRights
)
