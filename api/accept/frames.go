package accept

import (
	"bytes"
	"strconv"
	"strings"
	"sync/atomic"
)

// frames looks in the bytes of a connection for a request that states its length in two
// ways, by Content-Length and by Transfer-Encoding. A proxy in between may use one of
// them and this gateway the other, so that the proxy takes for a body what the gateway
// takes for a request. net/http uses Transfer-Encoding and drops Content-Length.
//
// A length that frames cannot read counts as two: net/http refuses most of those, but not one
// that stands behind many spaces or on the next line, and others may read it differently.
//
// frames looks until the first request with Transfer-Encoding or such a length. After that
// request the connection is closed.
type frames struct {
	ambiguous atomic.Int64 // which request it is, from 1 on; 0: none
	coded     atomic.Int64 // likewise, the first one with Transfer-Encoding
	head      atomic.Int64 // likewise, the last one that is or begins as a HEAD

	// Of the goroutine that reads.
	heads   int64  // begun
	line    []byte // read so far, without what is beyond maxLine
	cut     bool   // there was more of it
	begun   bool   // the request line was read, and the headers were not all
	body    int64  // of the present request, that is still to be read
	size    int64  // what Content-Length says, while the headers are read
	length  bool   // the present one has Content-Length
	coding  bool   // and Transfer-Encoding
	unclear bool   // its Content-Length cannot be read
	blinded bool   // nothing more is looked at
}

// maxLine is more than a name of interest and its value are long.
const maxLine = 128

func (f *frames) read(b []byte) {
	for len(b) > 0 && !f.blinded {
		if f.body > 0 {
			n := min(f.body, int64(len(b)))
			f.body -= n
			b = b[n:]
			continue
		}
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			f.keep(b)
			return
		}
		f.keep(b[:i])
		b = b[i+1:]
		f.take(strings.TrimSuffix(string(f.line), "\r"))
		f.line, f.cut = f.line[:0], false
	}
}

func (f *frames) keep(b []byte) {
	n := min(len(b), maxLine-len(f.line))
	f.line, f.cut = append(f.line, b[:n]...), f.cut || n < len(b)
	if !f.begun && bytes.HasPrefix(f.line, []byte("HEAD ")) { // also one whose line never ends
		f.head.Store(f.heads + 1)
	}
}

func (f *frames) take(line string) {
	switch {
	case !f.begun && line == "": // net/http lets it pass between requests
	case !f.begun:
		f.begun = true
		f.heads++
	case line == "":
		f.end()
	default:
		f.header(line)
	}
}

func (f *frames) header(line string) {
	name, value, _ := strings.Cut(line, ":")
	switch {
	case strings.EqualFold(name, "Content-Length"):
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		f.size, f.length, f.unclear = n, true, f.unclear || f.cut || err != nil
	case strings.EqualFold(name, "Transfer-Encoding"):
		f.coding = true
	}
}

// end of the headers.
func (f *frames) end() {
	f.blinded = f.coding || f.unclear
	if f.coding {
		f.coded.Store(f.heads)
	}
	if f.coding && f.length || f.unclear {
		f.ambiguous.Store(f.heads)
	}
	f.begun, f.length, f.body, f.size = false, false, f.size, 0
}
