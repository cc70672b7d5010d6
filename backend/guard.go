package backend

import (
	"errors"
	"os"
	"time"
)

// This file is what stores have in common that know by themselves whether a server may have
// forgotten grants, and keep it in quarantine then.

// Quarantined says that err is from a server that answers, and grants nothing new yet.
func Quarantined(err error) bool {
	_, ok := errors.AsType[*Later](err)
	return ok
}

// ScoutMost is the longest time between two looks where an address leads.
const (
	ScoutMost  = 10 * time.Second
	scoutLeast = time.Second
)

// ScoutEach is how often a gateway whose leases last so long looks where new connections to its store
// lead: so often that what it holds is written down again at another server before the quarantine
// there is over.
func ScoutEach(lease time.Duration) time.Duration { return min(max(lease/3, scoutLeast), ScoutMost) }

// Save has file say text, for the next process of the gateway, or else what it said before.
func Save(file, text string) error {
	next := file + ".next"
	_ = os.Remove(next) // a link that somebody has put there would be followed
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}
