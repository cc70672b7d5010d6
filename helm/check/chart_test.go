// Package check tests the chart: that it is well formed, that what it renders is
// what Kubernetes takes, that it says what it should, and that the gateway runs
// with what it renders. It is a module of its own, so that Helm and Kubernetes are
// no dependencies of lockgw.
package check

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

const chartDir = ".."

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// cases are the values files under testdata, each by its name.
func cases(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("values files %q, %v; want one for each mode at least", files, err)
	}
	all := map[string]map[string]any{}
	for _, file := range files {
		all[strings.TrimSuffix(filepath.Base(file), ".yaml")] = readValues(t, file)
	}
	return all
}

func readValues(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return values
}

// render returns the text of each template that makes one, by its file name.
func render(c *chart.Chart, values map[string]any) (map[string]string, error) {
	return renderAs("one", c, values)
}

func renderAs(release string, c *chart.Chart, values map[string]any) (map[string]string, error) {
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, err
	}
	options := common.ReleaseOptions{Name: release, Namespace: "locks", IsInstall: true}
	all, err := util.ToRenderValues(c, values, options, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	maps.DeleteFunc(files, func(_, text string) bool { return strings.TrimSpace(text) == "" })
	return files, err
}

func mustRender(t *testing.T, c *chart.Chart, values map[string]any) map[string]string {
	t.Helper()
	files, err := render(c, values)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestLint(t *testing.T) {
	for name, values := range cases(t) {
		for _, m := range lint.RunAll(chartDir, values, "locks").Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

// Which files a mode makes, and which not.
func TestModes(t *testing.T) {
	want := map[string][]string{
		"sidecar":        {"configmap", "secret", "test"},
		"sidecar-tls":    {"configmap", "podmonitor", "test"},
		"daemonset":      {"configmap", "daemonset", "networkpolicy", "secret", "serviceaccount", "test"},
		"daemonset-full": {"configmap", "daemonset", "networkpolicy", "podmonitor", "service", "serviceaccount", "servicemonitor", "test"},
		"deployment":     {"configmap", "deployment", "networkpolicy", "pdb", "secret", "service", "serviceaccount", "test"},
	}
	for name, values := range cases(t) {
		var got []string
		for file := range mustRender(t, loadChart(t), values) {
			switch base := filepath.Base(file); base {
			case "NOTES.txt":
			case "lock.yaml":
				got = append(got, "test")
			default:
				got = append(got, strings.TrimSuffix(base, ".yaml"))
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want[name]) {
			t.Errorf("%s renders %q, want %q", name, got, want[name])
		}
	}
}

// The notes tell a command that fits the mode.
func TestNotes(t *testing.T) {
	want := map[string]string{
		"sidecar":        "curl -N -X POST localhost:7420/v1/locks/nightly/hold",
		"sidecar-tls":    "curl -N -X POST --unix-socket /run/lockgw/gateway/http.sock http://lockgw/v1/locks/nightly/hold",
		"daemonset":      "curl -N -X POST --unix-socket /run/lockgw/http.sock http://lockgw/v1/locks/nightly/hold",
		"daemonset-full": "--key tls.key https://locks.locks.svc:7420/v1/locks/nightly/hold",
		"deployment":     "--key tls.key https://one-lockgw.locks.svc:7420/v1/locks/nightly/hold",
	}
	for name, values := range cases(t) {
		notes := mustRender(t, loadChart(t), values)["lockgw/templates/NOTES.txt"]
		if !strings.Contains(notes, want[name]) || want[name] == "" {
			t.Errorf("notes of %s:\n%s\nwant in them: %s", name, notes, want[name])
		}
	}
}

// The notes say of a Prometheus elsewhere that it is not let in, unless somebody has said who is.
func TestNotesOfPrometheus(t *testing.T) {
	values := readValues(t, "testdata/values/daemonset-full.yaml")
	for _, told := range []bool{false, true} {
		if told {
			delete(values["networkPolicy"].(map[string]any), "from")
		}
		notes := mustRender(t, loadChart(t), values)["lockgw/templates/NOTES.txt"]
		if strings.Contains(notes, "name the one of Prometheus in networkPolicy.from") != told {
			t.Errorf("from is left out: %v, and the notes are\n%s", told, notes)
		}
	}
}
