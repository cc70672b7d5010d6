package mysqltest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// variable names a program of MySQL's in place of MariaDB's.
const variable = "LOCKGW_MYSQLD"

// program is the server, and the directory that it makes of which each one gets a copy.
var program struct {
	sync.Mutex        // guards the fields below
	path       string // "": it was not looked for
	maria      bool
	template   string
}

// RemoveTemplate is called at the end of the tests that start servers.
func RemoveTemplate() {
	program.Lock()
	defer program.Unlock()
	if program.template != "" {
		_ = os.RemoveAll(program.template)
		program.template = ""
	}
}

func (s *Server) fill() error {
	program.Lock()
	defer program.Unlock()
	if program.path == "" {
		if err := find(); err != nil {
			return err
		}
	}
	if program.template == "" {
		dir, err := makeTemplate()
		if err != nil {
			return err
		}
		program.template = dir
	}
	if err := copyDir(filepath.Join(program.template, "data"), s.data(), s.whole); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(s.data(), "auto.cnf")) // the UUID of a MySQL, which makes one
}

func find() error {
	path := os.Getenv(variable)
	if path == "" {
		var err error
		if path, err = exec.LookPath("mariadbd"); err != nil {
			path = "/usr/sbin/mariadbd" // where Debian has it, which need not be in PATH
		}
	}
	version, err := exec.Command(path, "--no-defaults", "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("these tests need a MariaDB server (apt-get install mariadb-server): %w: %s", err, version)
	}
	program.path, program.maria = path, strings.Contains(string(version), "MariaDB")
	return nil
}

// usual settings: small, and nothing waits for a disk.
func usual() []string {
	all := []string{"--innodb-buffer-pool-size=24M", "--innodb-flush-method=nosync"}
	if os.Getuid() == 0 {
		all = append(all, "--user=root")
	}
	if program.maria {
		return append(all, "--innodb-log-file-size=8M", "--debug-no-sync", "--plugin-maturity=unknown")
	}
	return append(all, "--innodb-redo-log-capacity=8M", "--mysqlx=OFF", "--secure-file-priv=NULL", "--disable-log-bin")
}

func makeTemplate() (string, error) {
	dir, err := os.MkdirTemp("", "lockgw-mysqltest-template-")
	if err != nil {
		return "", err
	}
	data := "--datadir=" + filepath.Join(dir, "data")
	own, err := ownTemp(dir)
	if err != nil {
		return "", err
	}
	args := append(append([]string{"--no-defaults", own}, usual()...), data)
	cmd := exec.Command(program.path, append(args, "--initialize-insecure")...)
	if program.maria {
		args = append(args, "--auth-root-authentication-method=normal", "--skip-test-db")
		cmd = exec.Command("mariadb-install-db", args...)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w: %s", cmd, err, out), os.RemoveAll(dir))
	}
	return dir, nil
}

// ownTemp is a setting by which a server has its temporary tables in dir: one that starts
// deletes those that it finds, also if they are of another one.
func ownTemp(dir string) (string, error) {
	dir = filepath.Join(dir, "tmp")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return "--tmpdir=" + dir, nil
}

func copyDir(from, to string, whole bool) error {
	sparse := "--sparse=always"
	if whole {
		sparse = "--sparse=never"
	}
	if out, err := exec.Command("cp", "-a", sparse, from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	return nil
}

// newDir has a short path: sockets are made in it.
func newDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lockgw-mysqltest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Replicates are settings of a server that others follow, or that follows others.
func Replicates(id int) []string {
	all := []string{fmt.Sprint("--server-id=", id), "--log-bin=binlog", "--binlog-format=ROW"}
	if Real() {
		all = append(all, "--gtid-mode=ON", "--enforce-gtid-consistency=ON")
	}
	return all
}

// Follow are the statements by which a server follows s from its beginning.
func Follow(s *Server) []string {
	host, port, _ := net.SplitHostPort(s.Addr)
	if Real() {
		return []string{
			fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '%s', SOURCE_PORT = %s, SOURCE_USER = 'root', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1", host, port),
			"START REPLICA",
		}
	}
	return []string{
		fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = '%s', MASTER_PORT = %s, MASTER_USER = 'root', MASTER_LOG_FILE = 'binlog.000001', MASTER_LOG_POS = 4", host, port),
		"START SLAVE",
	}
}

// Follows is the statement that asks how it goes.
func Follows() string {
	if Real() {
		return "SHOW REPLICA STATUS"
	}
	return "SHOW SLAVE STATUS"
}

// Unfollow are the statements by which a server follows no more.
func Unfollow() []string {
	if Real() {
		return []string{"STOP REPLICA"}
	}
	return []string{"STOP SLAVE"}
}
