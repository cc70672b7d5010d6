package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/lockgw/lockgw/backend/servertest"
)

// template is a cluster as initdb makes it.
var template = servertest.Template{Make: func(dir string) error {
	if err := own(dir); err != nil {
		return err
	}
	cmd, err := find("initdb", "-D", filepath.Join(dir, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=1")
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}}

// RemoveTemplate is called at the end of the tests that start servers.
func RemoveTemplate() { template.Remove() }

func command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd, err := find(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// find makes a command of PostgreSQL's, which Debian keeps out of PATH, as the user that
// servers run as.
func find(name string, args ...string) (*exec.Cmd, error) {
	path, err := exec.LookPath(name)
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); len(found) > 0 {
		path, err = found[len(found)-1], nil
	}
	if err != nil {
		return nil, errors.New("these tests need a PostgreSQL server: apt-get install postgresql")
	}
	cmd := exec.Command(path, args...)
	asServer(cmd)
	return cmd, nil
}

func asServer(cmd *exec.Cmd) {
	cmd.Dir = "/" // it may not be allowed to be where the tests are
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if uid, gid, ok := another(); ok {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	}
	servertest.DieWithParent(cmd)
}

// another is the user that servers run as where the tests run as root, which PostgreSQL
// does not do.
func another() (uid, gid uint32, ok bool) {
	if os.Getuid() != 0 {
		return 0, 0, false
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			a, errA := strconv.ParseUint(u.Uid, 10, 32)
			b, errB := strconv.ParseUint(u.Gid, 10, 32)
			if errA == nil && errB == nil {
				return uint32(a), uint32(b), true
			}
		}
	}
	return 65534, 65534, true
}

func own(path string) error {
	if uid, gid, ok := another(); ok {
		return os.Chown(path, int(uid), int(gid))
	}
	return nil
}
