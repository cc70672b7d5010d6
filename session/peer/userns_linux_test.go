package peer

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWhole(t *testing.T) {
	for text, want := range map[string]bool{
		"         0          0 4294967295\n": true, "0 1000 1\n": false, "0 100000 65536\n": false, "": false,
		"0 0 1\n1 1 4294967294\n": true, "nonsense": false, "0 0 x\n": false,
	} {
		if got := whole([]byte(text)); got != want {
			t.Errorf("whole(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestOverflow(t *testing.T) {
	part, all := idMap{partial: true, overflow: 65534}, idMap{overflow: 65534}
	if !part.is(65534) || part.is(0) || all.is(65534) {
		t.Error("nobody in particular is who has the overflow id where not all ids are mapped")
	}
}

// inside, in the environment, has this program serve one connection in a user namespace.
const inside = "LOCKGW_TEST_INSIDE"

func init() {
	path := os.Getenv(inside)
	if path == "" {
		return
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_ = os.Chmod(path, 0o666)
	fmt.Println("listening")
	for {
		c, err := ln.Accept()
		if err != nil {
			os.Exit(1)
		}
		p, err := Of(c)
		_, bind := NewDescriptors().Process(os.Getpid(), p)
		_, conn := NewDescriptors().Conn(c, 1<<62)
		fmt.Printf("uid %d, %v; owner %s; nobody's group %v; bind: %v; conn: %v\n", p.UID, err, OwnerOf(c).Account, groups().is(65534), bind, conn)
		c.Close()
	}
}

// In a namespace that has one user alone, all others look like the user nobody, and are
// not taken for it.
func TestForeignUserNamespace(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	openUp(dir)
	path := filepath.Join(dir, "s")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), inside+"="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}},
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "listening" {
		t.Fatalf("the server in the namespace says %q", lines.Text())
	}
	dialAs(t, 1001, "unix", path)
	lines.Scan()
	for _, want := range []string{"uid -1, <nil>", "owner unknown", "nobody's group true", "bind: invalid", "conn: invalid"} {
		if !strings.Contains(lines.Text(), want) {
			t.Errorf("seen from inside: %q, want %q in it", lines.Text(), want)
		}
	}
	dialAs(t, 0, "unix", path)
	lines.Scan()
	if !strings.HasPrefix(lines.Text(), "uid 0, <nil>; owner uid 0") {
		t.Errorf("the user who is mapped, seen from inside: %q", lines.Text())
	}
}
