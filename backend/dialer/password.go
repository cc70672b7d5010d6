package dialer

import (
	"cmp"
	"fmt"
)

// NewPassword returns what says which password is in f now, or was before if f cannot be used. "":
// none was read since the start, as of a file that can be read once.
func NewPassword(f File) func() string {
	r := &Renewed[string]{}
	r.read = func() (string, error) {
		if readOnce(f.Path) {
			return r.last, nil
		}
		text, err := ReadSecret(f.Path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", f.Setting, err)
		}
		return string(text), nil
	}
	return r.Now
}

// Password is for one connection that is to be made: what now says, which may be nil, or else the
// one that was read at the start.
func Password(now func() string, first string) string {
	if now == nil {
		return first
	}
	return cmp.Or(now(), first)
}
