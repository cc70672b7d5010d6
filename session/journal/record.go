package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// header is the first line of a journal.
const header = "lockgw journal 1\n"

// A record in the file is JSON, and before it, in four bytes each, its length, the
// CRC-32C of these and that of the JSON. So a length that was damaged is told from
// one whose record was cut off.
const prefix = 12

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record tells one change. Which fields it has depends on Op.
type record struct {
	Op      op       `json:"o"`
	Name    string   `json:"n,omitempty"` // with Slot: a Key
	Slot    string   `json:"l,omitempty"`
	ID      string   `json:"i,omitempty"` // of a session
	Node    *Node    `json:"node,omitempty"`
	Session *Session `json:"s,omitempty"`
	Shown   *Peer    `json:"shown,omitempty"`
	Turn    *Turn    `json:"t,omitempty"`
	Answer  *Answer  `json:"a,omitempty"`
	Lost    *Lost    `json:"lost,omitempty"`
	Owner   string   `json:"w,omitempty"`
	Number  int64    `json:"v,omitempty"`
}

type op string

const (
	opNode       op = "node"
	opOpened     op = "open"
	opClosed     op = "close"
	opSpent      op = "spent"
	opShown      op = "shown"
	opAnswered   op = "answer"
	opUnanswered op = "unanswer"
	opLost       op = "lost"
	opAway       op = "away"
	opWants      op = "want"
	opIdle       op = "idle"
	opTold       op = "turn"
	opKept       op = "kept"
	opEnded      op = "end"
	opDeadline   op = "until"
	opEntries    op = "count"
	opFence      op = "fence"
)

// complete: r has what its Op is about.
func (r *record) complete() bool {
	switch r.Op {
	case opNode:
		return r.Node != nil
	case opOpened:
		return r.Session != nil
	case opAnswered, opUnanswered:
		return r.Answer != nil
	case opLost:
		return r.Lost != nil
	case opTold:
		return r.Turn != nil
	default:
		return true
	}
}

// append encodes r at the end of b.
func (r *record) append(b []byte) []byte {
	at := len(b)
	b = r.encode(append(b, make([]byte, prefix)...))
	head, body := b[at:][:prefix], b[at+prefix:]
	binary.LittleEndian.PutUint32(head, uint32(len(body)))
	binary.LittleEndian.PutUint32(head[4:], crc32.Checksum(head[:4], castagnoli))
	binary.LittleEndian.PutUint32(head[8:], crc32.Checksum(body, castagnoli))
	return b
}

// errForeign: the file was not written by a gateway, or was damaged since.
var errForeign = errors.New("not a journal, or damaged")

// load reads a journal. The State is empty if there is no file, or an empty one, or one that
// cannot be believed. The last is kept beside the journal, for people to look at.
func load(path string) (State, error) {
	b, err := readOwn(path)
	if errors.Is(err, os.ErrNotExist) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("state directory: %w", err)
	}
	s, err := read(b)
	if err != nil {
		return State{Rejected: path + ".bad"}, os.Rename(path, path+".bad")
	}
	return s, nil
}

// readOwn reads a file that this process's user has written, and nobody else: what it says
// is believed.
func readOwn(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) // a FIFO would keep it waiting
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link, which no gateway has made; remove it", path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no plain file (%v), which no gateway has made; remove it", path, info.Mode())
	}
	if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != os.Geteuid() {
		return nil, fmt.Errorf("%s is no file of this user, but of the user with id %d; remove it, or run the gateway as that user", path, owner)
	}
	return io.ReadAll(f)
}

// read decodes a journal. A record that is cut off at the end, or begins or ends with
// a zero, was never written as far as anybody knows; any other damage is errForeign.
func read(b []byte) (State, error) {
	var s State
	if len(b) == 0 {
		return s, nil
	}
	b, ok := bytes.CutPrefix(b, []byte(header))
	if !ok {
		return State{}, errForeign
	}
	s.make()
	old := oldAnswers(b)
	for len(b) > prefix && b[prefix] != 0 {
		n := binary.LittleEndian.Uint32(b)
		if crc32.Checksum(b[:4], castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
			return State{}, errForeign
		}
		if len(b) < prefix+int(n) {
			break
		}
		body := b[prefix : prefix+n]
		if n > 0 && body[n-1] == 0 { // a page that did not reach the disk
			break
		}
		if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[8:]) {
			return State{}, errForeign
		}
		if who := string(answerOf(body)); old[who] > 0 {
			old[who]--
			b = b[prefix+n:]
			continue
		}
		var r record
		if err := json.Unmarshal(body, &r); err != nil {
			return State{}, fmt.Errorf("%w: %w", errForeign, err)
		}
		if !r.complete() {
			return State{}, errForeign
		}
		s.apply(&r)
		b = b[prefix+n:]
	}
	if s.Node == "" {
		return State{}, errForeign // the first record names it
	}
	return s, nil
}
