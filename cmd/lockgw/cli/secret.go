package cli

import (
	"bytes"
	"errors"
	"fmt"

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

// maxSecretFile bounds what is read of a file with secrets.
const maxSecretFile = 1 << 20

// ReadSecret is what is in the file, without white space around it.
func ReadSecret(path string) ([]byte, error) {
	b, _, err := ReadFile(path, maxSecretFile+1)
	if err != nil {
		return nil, err
	}
	if len(b) > maxSecretFile {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, maxSecretFile)
	}
	if b = bytes.TrimSpace(b); len(b) == 0 {
		return nil, errors.New(path + " is empty")
	}
	return b, nil
}
