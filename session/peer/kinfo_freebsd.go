package peer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func credentials(fd int) (pid, uid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	// cr_pid, since FreeBSD 13; package unix knows the union that it is in as a pointer.
	last := unsafe.Add(unsafe.Pointer(cred), unsafe.Sizeof(*cred)-unsafe.Sizeof(uintptr(0)))
	return int(*(*int32)(last)), int(cred.Uid), nil
}

// Where a field of struct kinfo_proc begins, on machines of 64 bits; see sys/user.h.
const (
	kiPID   = 72
	kiRUID  = 172
	kiStart = 336 // a struct timeval
	kiComm  = 447
	kiSize  = 1088
	commLen = 20
)

func readProcess(pid int) (process, error) {
	if strconv.IntSize != 64 {
		return process{}, fmt.Errorf("processes of FreeBSD on machines of 32 bits: %w", errors.ErrUnsupported)
	}
	b, err := unix.SysctlRaw("kern.proc.pid", pid)
	if err != nil {
		return process{}, err
	}
	number := func(at int) int { return int(int32(binary.NativeEndian.Uint32(b[at:]))) }
	if len(b) != kiSize || number(0) != kiSize || number(kiPID) != pid {
		return process{}, unix.ESRCH
	}
	seconds, micros := binary.NativeEndian.Uint64(b[kiStart:]), binary.NativeEndian.Uint64(b[kiStart+8:])
	return process{
		uid:     number(kiRUID),
		start:   time.Duration(seconds)*time.Second + time.Duration(micros)*time.Microsecond,
		command: unix.ByteSliceToString(b[kiComm : kiComm+commLen]),
	}, nil
}
