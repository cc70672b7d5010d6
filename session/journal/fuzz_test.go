package journal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"testing"
)

// checkState: what was read can be written, and that is read as the same.
func checkState(t *testing.T, s State) {
	t.Helper()
	again, err := read(encode(encode([]byte(header), s.records()), s.answers()))
	if err != nil {
		t.Fatalf("what was read is written as something that cannot be read: %v", err)
	}
	if len(again.Sessions) != len(s.Sessions) || len(again.Places) != len(s.Places) || again.Node != s.Node || again.Fence != s.Fence {
		t.Errorf("read\n     %+v\nthen %+v", s, again)
	}
	s.outlive()
}

// A file of any bytes is read as far as it is true, or refused.
func FuzzFile(f *testing.F) {
	b, err := os.ReadFile("testdata/journal")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{b, b[:len(b)-7], append(b[:len(b):len(b)], make([]byte, 64)...), []byte(header), {}, []byte("lockgw journal 2\n")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := read(b); err == nil && s.Node != "" {
			checkState(t, s)
		}
	})
}

// The same with lengths and checksums that fit, so that the records themselves are looked at:
// a line is one.
func FuzzRecords(f *testing.F) {
	b, err := os.ReadFile("testdata/journal")
	if err != nil {
		f.Fatal(err)
	}
	var all [][]byte
	for b = bytes.TrimPrefix(b, []byte(header)); len(b) > prefix; {
		n := binary.LittleEndian.Uint32(b)
		all = append(all, b[prefix:prefix+n])
		b = b[prefix+n:]
	}
	f.Add(bytes.Join(all, []byte("\n")))
	for _, op := range []op{opNode, opOpened, opAnswered, opUnanswered, opLost, opTold, opShown} {
		f.Add([]byte(`{"o":"node","node":{"id":"n"}}` + "\n" + `{"o":"open","s":{"id":"s"}}` + "\n" + `{"o":"` + string(op) + `","i":"s"}`))
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		file := []byte(header)
		for body := range bytes.SplitSeq(lines, []byte("\n")) {
			file = appendBody(file, body)
		}
		if s, err := read(file); err == nil && s.Node != "" {
			checkState(t, s)
		}
	})
}

func appendBody(b, body []byte) []byte {
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(body, castagnoli))
	return append(append(b, head...), body...)
}
