package check

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/yaml"
)

// helm lint is silent about a schema that cannot be compiled.
func TestSchemaCompiles(t *testing.T) {
	text, err := os.ReadFile("../values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("values.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(jsonOf(t, readValues(t, "../values.yaml"))); err != nil {
		t.Errorf("the values of the chart itself: %v", err)
	}
}

func jsonOf(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	got, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// The schema and values.yaml name the same keys.
func TestSchemaIsComplete(t *testing.T) {
	text, err := os.ReadFile("../values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	sameKeys(t, "", schema, readValues(t, "../values.yaml"))
}

func sameKeys(t *testing.T, path string, schema, values map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	for key, s := range properties {
		value, ok := values[key]
		if !ok && path+key != "global" && path+key != "enabled" && !strings.HasPrefix(path, "config.") && !strings.HasPrefix(path, "resources.") {
			t.Errorf("values.yaml does not have %s%s", path, key)
		}
		if inner, ok := value.(map[string]any); ok && path+key != "config" {
			sameKeys(t, path+key+".", s.(map[string]any), inner)
		}
	}
}

// A chart switches a dependency off and on by a value of it.
func TestEnabled(t *testing.T) {
	for enabled, want := range map[bool]int{true: 1, false: 0} {
		c, err := loader.Load("testdata/app")
		if err != nil {
			t.Fatal(err)
		}
		c.Templates = nil
		c.Metadata.Dependencies[0].Condition = "lockgw.enabled"
		c.AddDependency(loadChart(t))
		files, err := render(c, map[string]any{"lockgw": map[string]any{"enabled": enabled}})
		if err != nil {
			t.Errorf("lockgw.enabled: %v: %v", enabled, err)
		}
		if got := len(files); min(got, 1) != want {
			t.Errorf("lockgw.enabled: %v makes %d files", enabled, got)
		}
	}
}

// config takes each part of lockgw.yaml but those that the chart sets whole.
func TestConfigHasAllKeys(t *testing.T) {
	text, err := exec.Command("go", "run", "-C", "../..", "./cmd/lockgw", "config", "schema").Output()
	if err != nil {
		t.Fatal(err)
	}
	var program, chart struct {
		Properties map[string]any
	}
	if err := json.Unmarshal(text, &program); err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile("../values.schema.json"); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &chart); err != nil {
		t.Fatal(err)
	}
	names := chart.Properties["config"].(map[string]any)["propertyNames"].(map[string]any)["enum"].([]any)
	for _, own := range []string{"admin", "node", "socket", "state_dir"} {
		delete(program.Properties, own)
	}
	for _, key := range names {
		if program.Properties[key.(string)] == nil {
			t.Errorf("config takes %v, which lockgw does not have", key)
		}
		delete(program.Properties, key.(string))
	}
	for key := range program.Properties {
		t.Errorf("config does not take %s", key)
	}
}

// What is wrong is refused before anything is rendered, and the refusal names the key.
func TestBadValues(t *testing.T) {
	const store = "backend: {url: 'redis://redis:6379'}\n"
	tests := []struct{ values, want string }{
		{"", "backend.url or backend.existingSecret.name is needed"},
		{"backend: {url: 'redis://a', existingSecret: {name: b}}", "both set"},
		{"backend: {url: 'redis:6379'}", "/backend/url"},
		{"backend: {ulr: 'redis://a'}", "ulr"},
		{store + "mode: statefulset", "/mode"},
		{store + "mod: sidecar", "mod"},
		{store + "mode: deployment", "needs tls.existingSecret"},
		{"mode: deployment\nbackend: {url: 'memory://'}\ntls: {existingSecret: a}", "a store of its own in each replica"},
		{store + "metrics: {podMonitor: {enabled: true}}", "needs tls.existingSecret and tls.clientSecret"},
		{store + "tls: {existingSecret: a, clientSecret: b}\nmetrics: {serviceMonitor: {enabled: true}}", "use metrics.podMonitor"},
		{store + "metrics: {podMonitor: {enabled: yes please}}", "/metrics/podMonitor/enabled"},
		{store + "config: {backend: {url: 'redis://:secret@a'}}", "/config/backend"},
		{store + "config: {backend: {url_file: /tmp/a}}", "/config/backend"},
		{store + "config: {http: {listen: ['0.0.0.0:7420']}}", "listen"},
		{store + "config: {socket: {dir: /tmp}}", "socket"},
		{store + "config: {admin: {token_file: /tmp/a}}", "admin"},
		{store + "config: {access: {tokens_file: /tmp/a}}", "/config/access"},
		{store + "access: {existingSecret: {name: 'Not A Name'}}", "/access/existingSecret/name"},
		{"backend: {url: 'rediss://a', tlsSecret: 'Not A Name'}", "/backend/tlsSecret"},
		{store + "image: {digest: latest}", "/image/digest"},
		{store + "image: {tag: 1.0}", "/image/tag"},
		{store + "tls: {existingSecret: 'Not A Name'}", "/tls/existingSecret"},
		{store + "daemonset: {group: 0}", "/daemonset/group"},
		{store + "daemonset: {socketDir: run/lockgw}", "/daemonset/socketDir"},
		{store + "deployment: {replicas: 0}", "/deployment/replicas"},
		{store + "networkPolicy: {storePorts: [redis]}", "/networkPolicy/storePorts/0"},
		{store + "resources: {limit: {memory: 1Gi}}", "limit"},
		{store + "extraEnv: [{name: GOMAXPROCS, value: '1'}, {name: LOCKGW_NODE, value: a}]", "the chart sets itself what LOCKGW_NODE is for"},
		{store + "extraEnv: [{name: LOCKGW_SOCKET_DIR, value: /tmp}]", "the chart sets itself what LOCKGW_SOCKET_DIR is for"},
		{store + "podLabels: {app.kubernetes.io/name: a}", "podLabels: app.kubernetes.io/name is the chart's"},
		{store + "mode: daemonset\nconfig: {shutdown: {timeout: 26s}}", "terminationGracePeriodSeconds is 30"},
		{store + "mode: daemonset\nconfig: {shutdown: {timeout: 26}}", "terminationGracePeriodSeconds is 30"},
		{store + "mode: daemonset\nterminationGracePeriodSeconds: 94\nconfig: {shutdown: {timeout: 1m30s}}", "give it 5 s more"},
		{store + "mode: daemonset\nterminationGracePeriodSeconds: 24", "terminationGracePeriodSeconds is 24"},
	}
	for _, tt := range tests {
		values := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(tt.values), &values); err != nil {
			t.Fatalf("%q: %v", tt.values, err)
		}
		_, err := render(loadChart(t), values)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: err = %v, want %q in it", tt.values, err, tt.want)
		}
	}
}

// What is near to a value that is refused is not.
func TestTermsThatAreAllowed(t *testing.T) {
	const store = "mode: daemonset\nbackend: {url: 'redis://redis:6379'}\n"
	for _, more := range []string{
		"config: {shutdown: {timeout: 25s}}",
		"config: {shutdown: {timeout: 1500ms}}",
		"config: {shutdown: null}", // all below it is a comment
		"podLabels: null",
		"terminationGracePeriodSeconds: 95\nconfig: {shutdown: {timeout: 1.5m}}",
		"extraEnv: [{name: LOCKGW_LOG_LEVEL, value: debug}]",
		"podLabels: {app.kubernetes.io/part-of: shop}",
	} {
		values := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(store+more), &values); err != nil {
			t.Fatal(err)
		}
		if _, err := render(loadChart(t), values); err != nil {
			t.Errorf("%s: %v", more, err)
		}
	}
}
