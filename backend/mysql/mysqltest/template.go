package mysqltest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/lockgw/lockgw/backend/servertest"
)

// variable names a program of MySQL's in place of MariaDB's.
const variable = "LOCKGW_MYSQLD"

// template is what a server makes.
var template = servertest.Template{Make: func(dir string) error {
	path, err := program()
	if err != nil {
		return err
	}
	args, err := usual(dir)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, append(args, "--initialize-insecure")...)
	if !Real() {
		cmd = exec.Command("mariadb-install-db", append(args, "--auth-root-authentication-method=normal", "--skip-test-db")...)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, out)
	}
	return nil
}}

// RemoveTemplate is called at the end of the tests that start servers.
func RemoveTemplate() { template.Remove() }

func fill(data, holes string) error {
	if err := template.CopyTo(data, holes); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(data, "auto.cnf")) // the UUID of a MySQL, which makes one
}

// program is the path of the server.
func program() (string, error) {
	if Real() {
		return os.Getenv(variable), nil
	}
	for _, name := range []string{"mariadbd", "/usr/sbin/mariadbd"} { // where Debian has it, which need not be in PATH
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("these tests need a MariaDB server: apt-get install mariadb-server")
}

// usual are the settings of a server in dir: small, and nothing waits for a disk. It has its temporary
// tables there, too: one that starts deletes those that it finds, also if they are of another one.
func usual(dir string) ([]string, error) {
	temp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	all := []string{"--no-defaults", "--tmpdir=" + temp, "--datadir=" + filepath.Join(dir, "data"), "--innodb-buffer-pool-size=24M", "--innodb-flush-method=nosync"}
	if os.Getuid() == 0 {
		all = append(all, "--user=root")
	}
	if !Real() {
		return append(all, "--innodb-log-file-size=8M", "--debug-no-sync", "--plugin-maturity=unknown"), nil
	}
	return append(all, "--innodb-redo-log-capacity=8M", "--mysqlx=OFF", "--secure-file-priv=NULL", "--disable-log-bin"), nil
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
