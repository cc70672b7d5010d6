package journal

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// chunk is how much room a file is given at once, in bytes. What is not used of it
// is zeros until Close.
const chunk = 256 << 10

// glance is how long another program may have cut the file or removed it unnoticed.
const glance = time.Second

var errNoPage = errors.New("the file was cut or removed by another program, or its disk does not answer")

// tail is a file that records are appended to. It is mapped into memory: a copy
// survives the process as a write(2) does, and takes a tenth of its time.
//
// Room is allocated before it is mapped, so that there is a page for each record.
// Should there be none when it is touched (another program has cut the file, the
// disk does not answer), that is an error, and not the end of the process. Where
// room cannot be allocated or mapped, records are written.
type tail struct {
	f     *os.File
	size  int64  // of what was appended
	mem   []byte // the file from its beginning; nil: not mapped yet, or plain
	plain bool   // records are written

	looked time.Time // when the file was known to be whole
}

// append adds records: all of b, or nothing as far as a reader can tell.
func (t *tail) append(b []byte) error {
	full := int(t.size)+len(b) > len(t.mem)
	if !t.plain && (full || time.Since(t.looked) >= glance) {
		if err := t.look(); err != nil {
			return err
		}
	}
	if !t.plain && full {
		if err := t.grow(len(b)); err != nil {
			return err
		}
	}
	if t.plain {
		return t.write(b)
	}
	return t.copy(b)
}

// write stores the first byte of the first record last, as copy does, if b has more than that
// record: a process that is killed may leave any part of what it writes at once.
func (t *tail) write(b []byte) error {
	first := b[prefix]
	several := len(b) > prefix+int(binary.LittleEndian.Uint32(b))
	if several {
		b[prefix] = 0
	}
	n, err := t.f.WriteAt(b, t.size)
	if err == nil && several {
		_, err = t.f.WriteAt([]byte{first}, t.size+prefix)
	}
	t.size += int64(n)
	return err
}

// copy stores the first byte of the first record last: a reader takes a zero there for the
// end. A process that is killed has done all stores before that moment, and none after it.
func (t *tail) copy(b []byte) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch e := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // a fault
			err = errNoPage
		default:
			panic(e)
		}
	}()
	to := t.mem[t.size:]
	copy(to, b[:prefix])
	copy(to[prefix+1:], b[prefix+1:])
	to[prefix] = b[prefix]
	t.size += int64(len(b))
	return nil
}

// look finds out whether the file is still there as a whole. Of the page in which it was
// cut there is still one in memory, which takes records that nobody will read.
func (t *tail) look() error {
	var now unix.Stat_t
	if err := unix.Fstat(int(t.f.Fd()), &now); err != nil {
		return err
	}
	if now.Size < max(t.size, int64(len(t.mem))) || now.Nlink == 0 {
		return errNoPage
	}
	t.looked = time.Now()
	return nil
}

// grow makes room for n bytes and more, or has records be written from now on: if
// the disk is full, that says so.
func (t *tail) grow(n int) error {
	if t.allocate((t.size+int64(n)+chunk)/chunk*chunk) == nil {
		return nil
	}
	t.plain = true
	return t.trim()
}

// allocate has the file be size bytes long, on disk and in memory.
func (t *tail) allocate(size int64) error {
	fd := int(t.f.Fd())
	if err := reserve(fd, t.size, size-t.size); err != nil {
		return err
	}
	mem, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	err = t.unmap()
	t.mem = mem
	return err
}

func (t *tail) unmap() error {
	if t.mem == nil {
		return nil
	}
	mem := t.mem
	t.mem = nil
	return unix.Munmap(mem)
}

// trim leaves nothing but the records in the file.
func (t *tail) trim() error { return errors.Join(t.unmap(), t.f.Truncate(t.size)) }

// empty leaves nothing in the file, which needs no room.
func (t *tail) empty() error {
	t.size = 0
	return t.trim()
}

// drop closes a file that was replaced.
func (t *tail) drop() error { return errors.Join(t.unmap(), t.f.Close()) }

// close is for the next process, which may be of an earlier version that knows
// nothing of zeros.
func (t *tail) close() error { return errors.Join(t.trim(), t.f.Close()) }
