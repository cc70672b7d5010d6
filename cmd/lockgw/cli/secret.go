package cli

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/lockgw/lockgw/backend/dialer"
	"github.com/lockgw/lockgw/session/access"
)

// ReadAdminToken reads the file of a secret. An empty path is none.
func ReadAdminToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	b, err := ReadSecret(path)
	if err != nil {
		return "", err
	}
	if len(b) < access.LeastToken {
		return "", fmt.Errorf("%s holds %d characters, an admin token needs at least %d; `head -c 32 /dev/urandom | base64` makes one",
			path, len(b), access.LeastToken)
	}
	if bytes.ContainsAny(b, " \t\r\n") {
		return "", errors.New(path + " holds more than one word")
	}
	return string(b), nil
}

// ReadFile reads a file that somebody has named, at most so many bytes of it; see package dialer.
func ReadFile(path string, most int64) (text []byte, pipe bool, err error) {
	return dialer.ReadFile(path, most)
}

// ReadSecret is what is in the file, without white space around it.
func ReadSecret(path string) ([]byte, error) { return dialer.ReadSecret(path) }
