package access

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
)

// LeastToken is how many characters a token has at least. Nothing limits how often somebody
// guesses, so a token has to be long.
const LeastToken = 16

// hash of a token is what is kept. Looking it up takes no time that depends on the
// secret.
type hash [sha256.Size]byte

func hashOf(token string) hash { return sha256.Sum256([]byte(token)) }

// Tokens are the access tokens, each with the name of its caller. The zero value has none.
type Tokens struct {
	names map[hash]string
	known map[string]bool
}

// ParseTokens reads lines of a name and a token. Empty lines and those that begin
// with # are skipped. A name may have several tokens, so that one can follow the
// other. No error contains a token.
func ParseTokens(text []byte) (Tokens, error) {
	t := Tokens{names: map[hash]string{}, known: map[string]bool{}}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := t.add(line); err != nil {
			return Tokens{}, fmt.Errorf("line %d %w", n, err)
		}
	}
	return t, lines.Err()
}

func (t Tokens) add(line string) error {
	words := strings.Fields(line)
	if len(words) != 2 {
		return fmt.Errorf("has %d words; write a name and a token", len(words))
	}
	name, token := words[0], words[1]
	switch {
	case len(name) > 64 || strings.ContainsFunc(name, notInName):
		return errors.New("must begin with a name of at most 64 letters, digits and . _ -")
	case len(token) < LeastToken:
		return fmt.Errorf("has a token of %d characters, it needs at least %d; `head -c 32 /dev/urandom | base64` makes one", len(token), LeastToken)
	}
	h := hashOf(token)
	if other, twice := t.names[h]; twice {
		return fmt.Errorf("repeats the token of %s", other)
	}
	t.names[h], t.known[name] = name, true
	return nil
}

// NameOf is the name of the caller whose token that is; "" if it is nobody's.
func (t Tokens) NameOf(token string) string { return t.names[hashOf(token)] }

func notInName(r rune) bool {
	return !strings.ContainsRune("._-", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
