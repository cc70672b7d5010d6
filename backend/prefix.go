package backend

import (
	"fmt"
	"strings"
)

// CheckKeyPrefix says why prefix cannot stand before the names of locks in a store that has
// keys of its own beside them, which begin with lockgw:, or nil.
func CheckKeyPrefix(prefix string) error {
	if strings.HasPrefix(prefix, "lockgw:") || strings.ContainsAny(prefix, "{} \t\r\n") {
		return fmt.Errorf("%q must not begin with lockgw: nor contain braces or white space", prefix)
	}
	return nil
}
