package doctor

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

func wantLevel(t *testing.T, f finding, level examine.Level, text string) {
	t.Helper()
	if f.Level != level || !strings.Contains(f.Detail+" "+f.Remedy, text) {
		t.Errorf("found %+v, want %s with %q", f, level, text)
	}
	if (f.Level == examine.OK) != (f.Remedy == "") {
		t.Errorf("found %+v, want how to mend it unless it is ok", f)
	}
}

func TestMachineFindings(t *testing.T) {
	wantLevel(t, filesFinding(fewFiles), examine.OK, "8192")
	wantLevel(t, filesFinding(fewFiles-1), examine.Warn, "LimitNOFILE")
	ok := finding{examine.OK, "state_dir", "free", ""}
	wantLevel(t, spaceFinding(ok, fewBytes), examine.OK, "64 MiB")
	wantLevel(t, spaceFinding(ok, fewBytes-1), examine.Warn, "make room")
}

func TestDoctorDirs(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, mode := range map[string]os.FileMode{"good": 0o755, "open": 0o777} {
		if err := os.Mkdir(at(name), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at(name), mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("good", at("link")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		look  func(string) finding
		name  string
		level examine.Level
		text  string
	}{
		{examineSocketDir, "good", examine.OK, "can be written and is free"},
		{examineSocketDir, "a/b/c", examine.OK, "can be made"},
		{examineSocketDir, "file", examine.Fail, "no directory"},
		{examineSocketDir, "file/below", examine.Fail, "not a directory"},
		{examineSocketDir, "link", examine.Fail, "no directory"}, // serve refuses it, too
		{examineSocketDir, "open", examine.Fail, "written by everybody"},
		{examineStateDir, "good", examine.OK, "can be written and is free"},
		{examineStateDir, "link", examine.Fail, "no directory"},
		{examineStateDir, "open", examine.Fail, "written by everybody"},
		{examineStateDir, "a/b/c", examine.OK, "can be made"},
		{examineStateDir, "file", examine.Fail, "no directory"},
	} {
		wantLevel(t, tt.look(at(tt.name)), tt.level, tt.text)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 4 {
		t.Errorf("entries = %v, %v, want the four from before: doctor makes nothing", entries, err)
	}
}

// No gateway could be started there, although none has locked it.
func TestDoctorSocketsOfServiceManager(t *testing.T) {
	dir := e2e.ShortDir(t)
	ln, err := net.Listen("unix", filepath.Join(dir, cli.RespSocket))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	wantLevel(t, examineSocketDir(dir), examine.OK, "the service manager listens there")
}

// A gateway with the sockets of a service manager makes none, wherever socket.dir is.
func TestDoctorPassedSockets(t *testing.T) {
	c := config.Default()
	c.StateDir = t.TempDir()
	c.Socket.Dir = filepath.Join(c.StateDir, "file")
	if err := os.WriteFile(c.Socket.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantLevel(t, levelOf(t, examineMachine(c, false), "socket.dir"), examine.Fail, "no directory")
	wantLevel(t, levelOf(t, examineMachine(c, true), "socket.dir"), examine.OK, "the service manager has passed the Unix sockets")
}

// What this user may not write in. Root may write everywhere but on such a file system.
func TestDoctorReadOnlyDir(t *testing.T) {
	if err := unix.Access("/proc/sys", unix.W_OK); err == nil {
		t.Skip("no directory here that this user may not write in")
	}
	wantLevel(t, examineStateDir("/proc/sys"), examine.Fail, "may not write")
	wantLevel(t, examineStateDir("/proc/sys/lockgw"), examine.Fail, "cannot be made")
}

// No rights help where nobody may write.
func TestDoctorMendsByMounting(t *testing.T) {
	for err, want := range map[error]string{unix.EROFS: "mount it for writing", unix.EACCES: "chown"} {
		if got := toWrite("state_dir", fmt.Errorf("this user may not write: %w", err), "chown"); !strings.HasPrefix(got, want) {
			t.Errorf("%v is mended by: %s, want %s", err, got, want)
		}
	}
}

func TestIsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	want := func(when string, want bool) {
		t.Helper()
		if got, err := isLocked(path); err != nil || got != want {
			t.Errorf("%s: locked = %v, %v, want %v", when, got, err, want)
		}
	}
	want("without a file", false)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want("not locked", false)
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	want("locked", true)
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	want("unlocked", false)
}
