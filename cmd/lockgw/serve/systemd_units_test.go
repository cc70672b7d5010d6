package serve

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

const unitDir = "../../../deploy/systemd"

// unit is a file of systemd: its values by key, sections left aside.
func unit(t *testing.T, name string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(unitDir, name))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			values[key] = append(values[key], value)
		}
	}
	return values
}

// The units and the program have to agree on names, paths and times.
func TestUnits(t *testing.T) {
	service := unit(t, "lockgw.service")
	sockets := strings.Fields(strings.Join(service["Sockets"], " "))
	for name, want := range map[string]string{
		passedHTTP: "%t/lockgw/" + cli.HTTPSocket, passedRESP: "%t/lockgw/" + cli.RespSocket, passedTCP: config.Default().HTTP.Listen[0],
	} {
		file := "lockgw-" + name + ".socket"
		socket := unit(t, file)
		for key, want := range map[string]string{"FileDescriptorName": name, "ListenStream": want, "Service": "lockgw.service"} {
			if got := socket[key]; !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %s = %q, want %q", file, key, got, want)
			}
		}
		if !slices.Contains(sockets, file) {
			t.Errorf("lockgw.service has the sockets %q, want %s among them", sockets, file)
		}
	}
	if got := service["Type"]; !slices.Equal(got, []string{"notify", "notify-reload"}) {
		t.Errorf("Type = %q", got)
	}
	if _, ok := service["RuntimeDirectory"]; ok {
		t.Error("RuntimeDirectory would be removed at a stop, with the sockets of the service manager in it")
	}
}

// A gateway that hangs has renewed its leases a third of one ago at the latest, and
// the next one wants to find them alive.
func TestUnitsWatchdogInsideLease(t *testing.T) {
	service := unit(t, "lockgw.service")
	const start = 2 * time.Second // generous, for reading the journal
	away := start
	for _, key := range []string{"WatchdogSec", "TimeoutAbortSec", "RestartSec"} {
		d, err := time.ParseDuration(strings.Join(service[key], " "))
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		away += d
	}
	ttl := config.Default().Lock.TTL
	if left := ttl - ttl/3 - ttl/100; away >= left {
		t.Errorf("after a hang the gateway is back after up to %v, and a lease may end after %v", away, left)
	}
}

// systemd itself understands the units.
func TestUnitsVerify(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze")
	}
	units, err := filepath.Glob(filepath.Join(unitDir, "*.socket"))
	if err != nil || len(units) != 3 {
		t.Fatalf("sockets %q, %v; want three", units, err)
	}
	dir := t.TempDir() // the checkout may have any rights, and systemd looks at them
	for i, u := range units {
		units[i] = copyUnit(t, u, dir)
	}
	service := copyUnit(t, filepath.Join(unitDir, "lockgw.service"), dir)
	out, err := exec.Command(analyze, append([]string{"verify", "--man=no", service}, units...)...).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze verify: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "lockgw") && !strings.Contains(line, "ignoring: notify-reload") { // before 253
			t.Error(line)
		}
	}
}

// copyUnit copies a unit into dir, with a program that is there.
func copyUnit(t *testing.T, path, dir string) string {
	t.Helper()
	program, err := exec.LookPath("lockgw")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, filepath.Base(path))
	if err := os.WriteFile(own, []byte(strings.Replace(string(text), "/usr/bin/lockgw", program, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return own
}
