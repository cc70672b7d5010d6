package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// What an API server says of the chart.
func TestServer(t *testing.T) {
	s := startServer(t)
	t.Run("installs", s.testInstalls)
	t.Run("admits", s.testAdmits)
	t.Run("refuses", s.testRefuses)
}

// It takes what each mode renders, warns of nothing, and takes a change of it.
func (s *server) testInstalls(t *testing.T) {
	for name, values := range cases(t) {
		namespace := "install-" + name
		s.namespace(t, namespace, standardOf(name))
		for _, ttl := range []string{"30s", "1m"} {
			values["config"] = map[string]any{"lock": map[string]any{"ttl": ttl}}
			files := mustRender(t, loadChart(t), values)
			for _, file := range slices.Sorted(maps.Keys(files)) {
				// The operator of Prometheus would bring the kinds of its own.
				if filepath.Base(file) == "NOTES.txt" || strings.HasSuffix(file, "monitor.yaml") {
					continue
				}
				for doc := range strings.SplitSeq(files[file], "\n---\n") {
					if minds := s.apply(t, namespace, []byte(doc)); minds != "" {
						t.Errorf("%s, %s: %s", name, file, minds)
					}
				}
			}
		}
	}
}

// It lets in the pods themselves, of which only a controller would hear otherwise;
// those with directories of the node nowhere but where everything may run.
func (s *server) testAdmits(t *testing.T) {
	for _, standard := range []string{"restricted", "privileged"} {
		namespace := "admit-" + standard
		s.namespace(t, namespace, standard)
		for name, pod := range pods(t) {
			pod.ServiceAccountName = "default" // the chart's is in the namespace of its installation
			if name == "app" {
				restrict(&pod)
			}
			object := corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Spec: pod}
			object.Name = strings.ReplaceAll(name, " ", "-")
			minds := s.apply(t, namespace, asDocument(t, object))
			if refused := standard == "restricted" && standardOf(name) != standard; refused && !strings.Contains(minds, "hostPath") {
				t.Errorf("%s where pods are %s: %q, want a refusal for its directories of the node", name, standard, minds)
			} else if !refused && minds != "" {
				t.Errorf("%s where pods are %s: %s", name, standard, minds)
			}
		}
	}
}

// Were it not to look, this would pass, too.
func (s *server) testRefuses(t *testing.T) {
	s.namespace(t, "refuse", "restricted")
	for doc, want := range map[string]string{
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dada": {}}`:                                                   ".dada: field not declared",
		`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 70000}]}}`:                           "spec.ports[0].port: Invalid value",
		`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}`:              "violates PodSecurity",
		`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"serviceAccountName": "b", "containers": [{"name": "a"}]}}`: "serviceaccount \"b\" not found",
	} {
		if minds := s.apply(t, "refuse", []byte(doc)); !strings.Contains(minds, want) {
			t.Errorf("%s: %q, want a refusal with %q", doc, minds, want)
		}
	}
}

// standardOf is the pod security standard that the pods of a mode keep to.
func standardOf(mode string) string {
	if strings.HasPrefix(mode, "daemonset") {
		return "privileged"
	}
	return "restricted"
}

// restrict makes somebody else's containers as good as the sidecar among them.
func restrict(pod *corev1.PodSpec) {
	for i := range pod.Containers {
		pod.Containers[i].SecurityContext = gateway(*pod).SecurityContext
	}
}

// namespace makes one that lets in pods of a standard alone, and warns of templates
// of others.
func (s *server) namespace(t *testing.T, name, standard string) {
	t.Helper()
	made := corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	made.Name = name
	made.Labels = map[string]string{"pod-security.kubernetes.io/enforce": standard, "pod-security.kubernetes.io/warn": standard}
	account := corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}}
	account.Name = "default" // which a controller would make
	for _, minds := range []string{s.apply(t, "", asDocument(t, made)), s.apply(t, name, asDocument(t, account))} {
		if minds != "" {
			t.Fatal(minds)
		}
	}
}

func asDocument(t *testing.T, object any) []byte {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// resourcePath is where the server has what a document describes.
func resourcePath(t *testing.T, namespace string, doc []byte) string {
	t.Helper()
	var object struct {
		metav1.TypeMeta
		Metadata metav1.ObjectMeta
	}
	if err := yaml.Unmarshal(doc, &object); err != nil {
		t.Fatal(err)
	}
	api := "/apis/" + object.APIVersion
	if object.APIVersion == "v1" {
		api = "/api/v1"
	}
	if namespace != "" {
		api += "/namespaces/" + namespace
	}
	resource := strings.ToLower(object.Kind) + "s"
	if base, ok := strings.CutSuffix(resource, "ys"); ok {
		resource = base + "ies"
	}
	return fmt.Sprintf("%s/%s/%s", api, resource, object.Metadata.Name)
}
