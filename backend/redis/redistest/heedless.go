package redistest

import (
	"bufio"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Versions and Leases are what the script that writes a record looks at, and what something
// that does not look has in their place.
var (
	Versions = strings.NewReplacer("if sub(h, 1, 22) ~= ARGV[1] then", "if false then")
	Leases   = strings.NewReplacer("if early and (", "if false and (")
)

// Heedless starts what is in place of the Redis at addr, and runs the scripts that it is sent
// as changed makes them. It returns its address, and ends with the test.
func Heedless(t testing.TB, addr string, changed *strings.Replacer) string {
	t.Helper()
	h := &heedless{to: addr, changed: changed, shas: map[string]string{}}
	t.Cleanup(func() { // once nobody is connected any more
		if len(h.shas) == 0 {
			t.Error("no script was changed: what it looks at has another text by now")
		}
	})
	return listen(t, h.serve)
}

type heedless struct {
	to      string
	changed *strings.Replacer

	mu   sync.Mutex        // guards the field below
	shas map[string]string // of scripts that were changed
}

func (h *heedless) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", h.to)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	defer back.Wait()
	defer server.Close()
	back.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	for r := bufio.NewReader(client); ; {
		words, err := readCommand(r)
		if err != nil {
			return
		}
		h.change(words)
		var out strings.Builder
		fmt.Fprintf(&out, "*%d\r\n", len(words))
		for _, w := range words {
			fmt.Fprintf(&out, "$%d\r\n%s\r\n", len(w), w)
		}
		if _, err := io.WriteString(server, out.String()); err != nil {
			return
		}
	}
}

func (h *heedless) change(words []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch strings.ToLower(words[0]) {
	case "eval":
		if to := h.changed.Replace(words[1]); to != words[1] {
			h.shas[shaOf(words[1])] = shaOf(to)
			words[1] = to
		}
	case "evalsha":
		if sha, ok := h.shas[words[1]]; ok {
			words[1] = sha
		}
	}
}

func shaOf(script string) string {
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}

// readCommand reads a command as client libraries send it.
func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readNumber(r, '*')
	if err != nil || n < 1 {
		return nil, fmt.Errorf("no command: %d, %w", n, err)
	}
	words := make([]string, n)
	for i := range words {
		size, err := readNumber(r, '$')
		if err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		words[i] = string(b[:size])
	}
	return words, nil
}

func readNumber(r *bufio.Reader, begin byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != begin {
		return 0, fmt.Errorf("%q does not begin with %q", line, begin)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
