package check

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// objects are the decoded documents of a rendering, by kind; a test pod is "Test".
type objects map[string]any

// decode refuses a field that the type of the document does not have, in which the
// API server would only see a typing error long afterwards.
func decode(t *testing.T, files map[string]string) objects {
	t.Helper()
	all := objects{}
	for file, text := range files {
		if filepath.Base(file) == "NOTES.txt" {
			continue
		}
		for doc := range strings.SplitSeq(text, "\n---\n") {
			kind, object := decodeOne(t, file, doc)
			if strings.Contains(file, "/tests/") {
				kind = "Test"
			}
			if all[kind] != nil {
				t.Errorf("%s: a second %s", file, kind)
			}
			all[kind] = object
		}
	}
	return all
}

func decodeOne(t *testing.T, file, doc string) (kind string, object any) {
	t.Helper()
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(doc), &meta); err != nil {
		t.Fatalf("%s: %v\n%s", file, err, doc)
	}
	object = newObject(meta)
	if object == nil {
		t.Fatalf("%s: unknown kind %s %s", file, meta.APIVersion, meta.Kind)
	}
	if err := yaml.UnmarshalStrict([]byte(doc), object); err != nil {
		t.Errorf("%s: %v\n%s", file, err, doc)
	}
	// Helm sends it as JSON, and does not know where a number is to be a text.
	sent, err := yaml.YAMLToJSON([]byte(doc))
	if err == nil {
		err = json.Unmarshal(sent, newObject(meta))
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", file, err, doc)
	}
	return meta.Kind, object
}

func newObject(meta metav1.TypeMeta) any {
	switch meta.APIVersion + " " + meta.Kind {
	case "v1 ConfigMap":
		return new(corev1.ConfigMap)
	case "v1 Secret":
		return new(corev1.Secret)
	case "v1 Service":
		return new(corev1.Service)
	case "v1 ServiceAccount":
		return new(corev1.ServiceAccount)
	case "v1 Pod":
		return new(corev1.Pod)
	case "apps/v1 DaemonSet":
		return new(appsv1.DaemonSet)
	case "apps/v1 Deployment":
		return new(appsv1.Deployment)
	case "batch/v1 CronJob":
		return new(batchv1.CronJob)
	case "policy/v1 PodDisruptionBudget":
		return new(policyv1.PodDisruptionBudget)
	case "networking.k8s.io/v1 NetworkPolicy":
		return new(networkingv1.NetworkPolicy)
	case "monitoring.coreos.com/v1 PodMonitor":
		return new(monitoringv1.PodMonitor)
	case "monitoring.coreos.com/v1 ServiceMonitor":
		return new(monitoringv1.ServiceMonitor)
	}
	return nil
}

func rendered(t *testing.T, name string) objects {
	t.Helper()
	return decode(t, mustRender(t, loadChart(t), readValues(t, filepath.Join("testdata/values", name+".yaml"))))
}

// app is a chart of somebody else that has lockgw as a dependency.
func app(t *testing.T) objects {
	t.Helper()
	c, err := loader.Load("testdata/app")
	if err != nil {
		t.Fatal(err)
	}
	c.AddDependency(loadChart(t))
	return decode(t, mustRender(t, c, nil))
}

// It also shows that a pod with the sidecar is valid, and no other file is in the way.
func TestDecode(t *testing.T) {
	for name := range cases(t) {
		if got := len(rendered(t, name)); got < 3 {
			t.Errorf("%s: %d objects, want three at least", name, got)
		}
	}
	if app(t)["CronJob"] == nil {
		t.Error("no CronJob in the chart that uses lockgw")
	}
}

// A name that YAML takes for a number, as that of a commit may be one, stays a text.
func TestNamesOfDigits(t *testing.T) {
	for _, values := range cases(t) {
		files, err := renderAs("7e10", loadChart(t), values)
		if err != nil {
			t.Fatal(err)
		}
		decode(t, files)
	}
	for _, values := range []string{
		"backend: {existingSecret: {name: '1', key: '2'}, tlsSecret: '3'}\nmode: deployment\nadmin: {existingSecret: {name: '4', key: '5'}}\n" +
			"access: {existingSecret: {name: '6', key: '7'}}\ntls: {existingSecret: '8', clientSecret: '9', serverName: '10'}\npriorityClassName: '11'\n" +
			"metrics: {podMonitor: {enabled: true}}\nimagePullSecrets: [{name: '12'}]\n",
		"backend: {url: 'redis://a', existingSecret: {key: '1e3'}}\n",
	} {
		all := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(values), &all); err != nil {
			t.Fatal(err)
		}
		objects := decode(t, mustRender(t, loadChart(t), all))
		if s, ok := objects["Secret"].(*corev1.Secret); ok && s.StringData["1e3"] == "" {
			t.Errorf("the Secret has %v, want the URL by the key 1e3", s.StringData)
		}
	}
}

// A chart may have lockgw twice, under two names, as for two stores: neither Service leads to
// the other's gateways.
func TestTwice(t *testing.T) {
	c, err := loader.Load("testdata/app")
	if err != nil {
		t.Fatal(err)
	}
	c.Templates = nil
	c.AddDependency(loadChart(t))
	dependency, values := *c.Metadata.Dependencies[0], map[string]any{}
	c.Metadata.Dependencies = nil
	for _, name := range []string{"stock", "billing"} {
		aliased := dependency
		aliased.Alias = name
		c.Metadata.Dependencies = append(c.Metadata.Dependencies, &aliased)
		values[name] = readValues(t, "testdata/values/deployment.yaml")
	}
	selectors := map[string]bool{}
	for file, text := range mustRender(t, c, values) {
		if filepath.Base(file) == "service.yaml" {
			_, object := decodeOne(t, file, text)
			selectors[fmt.Sprint(object.(*corev1.Service).Spec.Selector)] = true
		}
	}
	if len(selectors) != 2 {
		t.Errorf("two Services select by %v, want two different ones", selectors)
	}
}

// The example of the documentation is the one that is tested.
func TestExampleOfDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("testdata/app/templates/job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), string(example)) {
		t.Error("docs/kubernetes.md does not have helm/check/testdata/app/templates/job.yaml as it is")
	}
}
