package pgtest

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// A server that was killed leaves no segment of shared memory on the machine.
func TestNothingIsLeft(t *testing.T) {
	id := -1
	t.Run("killed", func(t *testing.T) {
		s := Start(t)
		id = s.segment()
		s.Kill()
		if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, new(unix.SysvShmDesc)); err != nil {
			t.Fatalf("segment %d: %v", id, err)
		}
	})
	if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, new(unix.SysvShmDesc)); !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIDRM) {
		t.Errorf("segment %d is left: %v", id, err)
	}
}
