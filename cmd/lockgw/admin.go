package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"

	"github.com/lockgw/lockgw/session"
)

// leastAdminToken is how long an admin token has to be: it is sent as it is, and
// nothing limits how often somebody tries.
const leastAdminToken = 16

// readAdminToken reads the file of a secret. An empty path is none.
func readAdminToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := string(bytes.TrimSpace(b))
	if len(token) < leastAdminToken {
		return "", fmt.Errorf("%s holds %d characters, an admin token needs at least %d; `head -c 32 /dev/urandom | base64` makes one",
			path, len(token), leastAdminToken)
	}
	if bytes.ContainsAny([]byte(token), " \t\r\n") {
		return "", errors.New(path + " holds more than one word")
	}
	return token, nil
}

// admins says who is an administrator: whoever has the token, and on the Unix
// sockets root and the user of this process.
func admins(token string) func(session.Peer, string) (string, bool) {
	want := sha256.Sum256([]byte(token))
	return func(by session.Peer, sent string) (string, bool) {
		who := "somebody over TCP"
		if by.UID >= 0 {
			who = fmt.Sprintf("uid %d, pid %d (%s)", by.UID, by.PID, by.Command)
		}
		if sent != "" {
			got := sha256.Sum256([]byte(sent)) // of one length, so that comparing takes one time
			if token != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
				return who + " with the admin token", true
			}
			return "", false
		}
		return who, by.UID == 0 || by.UID == os.Geteuid()
	}
}
