package telemetry

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	rules     = "../../../deploy/prometheus/rules.yaml"
	dashboard = "../../../deploy/grafana/lockgw.json"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var series = regexp.MustCompile(`\b(lockgw|http_server|process)_[a-z_]+`)

// What the alerts and the dashboard ask for is there.
func TestDeployedNames(t *testing.T) {
	served := everything(t).scraped(t)
	for _, file := range []string{rules, dashboard} {
		names := series.FindAllString(read(t, file), -1)
		if len(names) < 10 {
			t.Errorf("%s names %d series, want more", file, len(names))
		}
		for _, name := range names {
			base := name
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				if s, ok := strings.CutSuffix(name, suffix); ok && slices.Contains(served, s) {
					base = s
				}
			}
			if !slices.Contains(served, base) {
				t.Errorf("%s asks for %s, which is not served", file, name)
			}
		}
	}
}

// Each alert has a page to go to.
func TestRunbooks(t *testing.T) {
	text := read(t, docs)
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(read(t, rules), -1)
	for _, alert := range alerts {
		if !strings.Contains(text, "\n### "+alert[1]+"\n") {
			t.Errorf("%s has no section %s", docs, alert[1])
		}
		if !strings.Contains(read(t, rules), "docs/telemetry.md#"+strings.ToLower(alert[1])+"\n") {
			t.Errorf("%s has no runbook_url of %s", rules, alert[1])
		}
	}
	if n := strings.Count(text, "\n### Lockgw"); n != len(alerts) || n == 0 {
		t.Errorf("%s has %d alerts, want %d", docs, n, len(alerts))
	}
}

func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool; it comes with the Debian package prometheus")
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestRules(t *testing.T) {
	promtool(t, filepath.Dir(rules), "check", "rules", "rules.yaml")
	promtool(t, filepath.Dir(rules), "test", "rules", "rules_test.yaml")
}

// Every query of the dashboard can be read by Prometheus.
func TestDashboard(t *testing.T) {
	var d struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, dashboard)), &d); err != nil {
		t.Fatal(err)
	}
	text, variables := "groups: [{name: x, rules: [", strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h")
	ids, n := map[int]bool{}, 0
	for _, p := range d.Panels {
		if p.Title == "" || ids[p.ID] {
			t.Errorf("panel %d %q has no title, or the number of another", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			text += fmt.Sprintf("{record: q%d, expr: %q},", n, variables.Replace(target.Expr))
			n++
		}
	}
	if n < 20 {
		t.Errorf("the dashboard has %d queries, want more", n)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(text+"]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, filepath.Dir(file), "check", "rules", file)
}
