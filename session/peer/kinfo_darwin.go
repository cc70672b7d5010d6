package peer

import (
	"time"

	"golang.org/x/sys/unix"
)

func credentials(fd int) (pid, uid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	pid, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	return pid, int(cred.Uid), err
}

func readProcess(pid int) (process, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return process{}, err
	}
	if int(k.Proc.P_pid) != pid {
		return process{}, unix.ESRCH
	}
	return process{
		uid:     int(k.Eproc.Pcred.P_ruid),
		start:   time.Duration(k.Proc.P_starttime.Nano()),
		command: unix.ByteSliceToString(k.Proc.P_comm[:]),
	}, nil
}
