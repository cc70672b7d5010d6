package restarts

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// Whatever is wrong with a journal, the gateway starts and believes nothing that was
// not written.
func TestJournalThatCannotBeBelieved(t *testing.T) {
	foreign := func([]byte) []byte { return []byte("#!/bin/sh\necho hello\n") }
	for _, tt := range []struct {
		what   string
		change func([]byte) []byte
	}{
		{"empty", func([]byte) []byte { return nil }},
		{"foreign", foreign},
		{"damaged", func(b []byte) []byte { b[len(b)/2] ^= 0xff; return b }},
	} {
		t.Run(tt.what, func(t *testing.T) {
			store := redistest.Start(t)
			g := lone(t, store.URL())
			d, _ := mustHold(t, g, "x", `{"keepalive":"1h"}`)
			g.Kill()
			g.edit(t, tt.change)
			g.mustStart(t)
			var no *refusal
			if _, err := d.locks(t.Context()); !errors.As(err, &no) || no.code != "no_session" {
				t.Errorf("the session of before: %v, want no_session", err)
			}
			if state := g.lockState(t.Context(), "x"); state != "held" {
				t.Errorf("x is %q, want held until its lease is over: nobody has given it back", state)
			}
			mustHold(t, g, "y", `{}`)
		})
	}
}

// edit changes the journal of a gateway that is away: the records, without the zeros
// that a process that was killed leaves behind them.
func (g *gateway) edit(t testing.TB, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(g.State(), "journal")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(bytes.TrimRight(text, "\x00")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Wherever a journal breaks off, what was written before that is true, and the
// gateway says nothing of what comes after.
func TestJournalBrokenOff(t *testing.T) {
	store := redistest.Start(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		g := lone(t, store.URL())
		told := map[*webDoor]lock{}
		for n := range 10 {
			d, l := mustHold(t, g, fmt.Sprint(g.Dir[len(g.Dir)-9:len(g.Dir)-5], "-", n), `{"keepalive":"1h"}`)
			told[d] = l
		}
		g.Kill()
		g.edit(t, func(b []byte) []byte { return b[:rng.IntN(len(b))] })
		g.mustStart(t)
		for d, want := range told {
			held, err := d.locks(t.Context())
			var no *refusal
			switch {
			case errors.As(err, &no) && no.code == "no_session":
			case err != nil:
				t.Errorf("session: %v", err)
			case len(held) > 1, len(held) == 1 && (held[0].Name != want.Name || held[0].Fence != want.Fence || held[0].Owner != want.Owner):
				t.Errorf("holds %+v, want %+v or nothing", held, want)
			}
		}
		g.Kill()
	}
}

// After a start of the machine no client is left.
func TestJournalOfAnotherBoot(t *testing.T) {
	g := lone(t, redistest.Start(t).URL())
	d, l := mustHold(t, g, "x", `{"keepalive":"1h"}`)
	g.Kill()
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	g.edit(t, func(b []byte) []byte { return otherBoot(t, b, strings.TrimSpace(string(boot))) })
	g.mustStart(t)
	var no *refusal
	if _, err := d.locks(t.Context()); !errors.As(err, &no) || no.code != "no_session" {
		t.Errorf("the session of before: %v, want no_session", err)
	}
	eventually(t, "what the dead held is given back", func() bool { return g.lockState(t.Context(), "x") == "free" })
	if _, next := mustHold(t, g, "x", `{}`); next.Fence <= l.Fence {
		t.Errorf("next fence %d after %d", next.Fence, l.Fence)
	}
}

// otherBoot makes of a journal that of another start of the machine, which the first
// record names.
func otherBoot(t testing.TB, b []byte, boot string) []byte {
	t.Helper()
	const sums = 12 // its length, the sum of that, and the sum of the body
	at := bytes.IndexByte(b, '\n') + 1
	body := b[at+sums:][:binary.LittleEndian.Uint32(b[at:])]
	if !bytes.Contains(body, []byte(boot)) {
		t.Fatalf("the first record does not name the boot: %s", body)
	}
	copy(body, bytes.Replace(body, []byte(boot), []byte(uuid.NewString()), 1))
	binary.LittleEndian.PutUint32(b[at+8:], crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	return b
}
