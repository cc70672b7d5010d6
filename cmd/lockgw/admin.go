package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/lockgw/lockgw/session/access"
)

// readAdminToken reads the file of a secret. An empty path is none.
func readAdminToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	b, err := readSecret(path)
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
