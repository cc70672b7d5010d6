package serve

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/api"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// asPassed is a file as a service manager passes it: its name is FileDescriptorName=.
func asPassed(t *testing.T, name string, fd int, err error) *os.File {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), name)
	t.Cleanup(func() { f.Close() })
	return f
}

// listenFile is a listening socket.
func listenFile(t *testing.T, name, network, address string) *os.File {
	t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	f, err := ln.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := unix.Dup(int(f.Fd()))
	return asPassed(t, name, fd, err)
}

func TestTakePassedBad(t *testing.T) {
	path := filepath.Join(e2e.ShortDir(t), "s")
	datagram, datagramErr := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	pair, pairErr := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0) // as with Accept=yes
	null, nullErr := unix.Open(os.DevNull, unix.O_RDWR, 0)
	for _, tt := range []struct {
		name string
		f    *os.File
		want string
	}{
		{"unknown name", listenFile(t, "lockgw-http.socket", "unix", path), `passed as "lockgw-http.socket" is not known here; name it http, resp or tcp`},
		{"no name", listenFile(t, "LISTEN_FD_3", "unix", path+"0"), "is not known here"},
		{"TCP as http", listenFile(t, passedHTTP, "tcp", "127.0.0.1:0"), `passed as "http" is a tcp socket, not a unix one`},
		{"Unix as tcp", listenFile(t, passedTCP, "unix", path+"1"), "is a unix socket, not a tcp one"},
		{"SOCK_SEQPACKET", listenFile(t, passedRESP, "unixpacket", path+"2"), "is a unixpacket socket, not a unix one"},
		{"datagrams", asPassed(t, passedTCP, datagram, datagramErr), "does not listen for connections"},
		{"a connection", asPassed(t, passedRESP, pair[0], pairErr), "does not listen for connections"},
		{"no socket", asPassed(t, passedRESP, null, nullErr), "does not listen for connections"},
	} {
		good := listenFile(t, passedTCP, "tcp", "127.0.0.1:0")
		passed, err := takePassed([]*os.File{good, tt.f})
		if err == nil || !strings.Contains(err.Error(), tt.want) || len(passed) > 0 {
			t.Errorf("%s: took %d sockets, %v; want none and %q", tt.name, len(passed), err, tt.want)
		}
	}
	_ = unix.Close(pair[1])
}

// What http.listen may not say may not be passed either.
func TestPassedTCPOutside(t *testing.T) {
	passed, err := takePassed([]*os.File{listenFile(t, passedTCP, "tcp", "0.0.0.0:0")})
	if err != nil {
		t.Fatal(err)
	}
	defer passed.close()
	_, err = listen(config.Config{Socket: config.Socket{Dir: e2e.ShortDir(t), Mode: 0o660}}, passed, api.Listening{})
	if err == nil || !strings.Contains(err.Error(), "can be reached from other machines") {
		t.Errorf("a socket that is open to other machines: %v, want a refusal", err)
	}
}

// One that is passed stands for the one that is configured, the other is made.
func TestPassedInPlaceOf(t *testing.T) {
	dir, elsewhere := e2e.ShortDir(t), filepath.Join(e2e.ShortDir(t), "s")
	passed, err := takePassed([]*os.File{
		listenFile(t, passedRESP, "unix", elsewhere), listenFile(t, passedTCP, "tcp", "127.0.0.1:0"), listenFile(t, passedTCP, "tcp", "[::1]:0"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer passed.close()
	ls, err := listen(config.Config{HTTP: config.HTTP{Listen: []string{"127.0.0.1:0"}}, Socket: config.Socket{Dir: dir, Mode: 0o660}}, passed, api.Listening{})
	if err != nil {
		t.Fatal(err)
	}
	if got := ls.addresses("tcp"); len(got) != 2 || !strings.HasPrefix(got[1], "[::1]:") {
		t.Errorf("TCP on %q, want the two sockets that were passed", got)
	}
	if len(ls.resp) != 1 || ls.resp[0].Addr().String() != elsewhere {
		t.Errorf("resp on %v, want %s", ls.addresses("unix"), elsewhere)
	}
	if !cli.Exists(filepath.Join(dir, cli.HTTPSocket)) || cli.Exists(filepath.Join(dir, cli.RespSocket)) {
		t.Error("http.sock has to be made and resp.sock not")
	}
	ls.close()
	passed.close()
	if cli.Exists(filepath.Join(dir, cli.HTTPSocket)) || !cli.Exists(elsewhere) {
		t.Error("http.sock has to be removed and the socket of the service manager not")
	}
}

// With both Unix sockets passed no directory is needed: it may be somebody else's.
func TestPassedNeedsNoDir(t *testing.T) {
	dir := e2e.ShortDir(t)
	passed, err := takePassed([]*os.File{
		listenFile(t, passedRESP, "unix", filepath.Join(dir, cli.RespSocket)), listenFile(t, passedHTTP, "unix", filepath.Join(dir, cli.HTTPSocket)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer passed.close()
	ls, err := listen(config.Config{Socket: config.Socket{Dir: filepath.Join(dir, "none"), Mode: 0o660}}, passed, api.Listening{})
	if err != nil {
		t.Fatal(err)
	}
	defer ls.close()
	if cli.Exists(filepath.Join(dir, "none")) {
		t.Error("the directory of socket.dir was made")
	}
}

// Who examines the gateway is told that it needs no directory.
func TestPassedIsTold(t *testing.T) {
	for _, names := range [][]string{{passedHTTP, passedRESP}, {passedHTTP}} {
		s := newSystemd(t)
		for _, name := range names {
			s.listen(name, "unix", filepath.Join(s.dir, name+".sock"))
		}
		cmd := s.start(nil)
		s.await("READY=1")
		var x struct{ Passed bool }
		if err := (cli.Gateway{Socket: filepath.Join(s.dir, cli.RespSocket)}).Get(t.Context(), "/v1/admin/doctor", &x); err != nil {
			t.Fatal(err)
		}
		if want := len(names) == 2; x.Passed != want {
			t.Errorf("with %q passed the examiner is told %v, want %v", names, x.Passed, want)
		}
		s.stop(cmd)
	}
}

// The server of a socket that was left goes on until it is shut down.
func TestPassedLeave(t *testing.T) {
	path := filepath.Join(e2e.ShortDir(t), "s")
	passed, err := takePassed([]*os.File{listenFile(t, passedRESP, "unix", path)})
	if err != nil {
		t.Fatal(err)
	}
	ln := passed.named(passedRESP)[0]
	served := make(chan error, 1)
	go func() {
		_, err := ln.Accept()
		served <- err
	}()
	passed.leave()
	select {
	case err := <-served:
		t.Fatalf("Accept after leave = %v, want it to wait for Close", err)
	default:
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("connect after leave: %v", err)
	}
	c.Close()
	ln.Close()
	if err := <-served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close = %v, want %v", err, net.ErrClosed)
	}
}
