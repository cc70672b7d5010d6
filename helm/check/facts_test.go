package check

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// pods are the pods of all modes, those of the tests and of the chart that uses
// lockgw among them.
func pods(t *testing.T) map[string]corev1.PodSpec {
	t.Helper()
	all := map[string]corev1.PodSpec{"app": app(t)["CronJob"].(*batchv1.CronJob).Spec.JobTemplate.Spec.Template.Spec}
	for name := range cases(t) {
		objects := rendered(t, name)
		all[name+" test"] = objects["Test"].(*corev1.Pod).Spec
		if d, ok := objects["DaemonSet"].(*appsv1.DaemonSet); ok {
			all[name] = d.Spec.Template.Spec
		}
		if d, ok := objects["Deployment"].(*appsv1.Deployment); ok {
			all[name] = d.Spec.Template.Spec
		}
	}
	return all
}

// gateway is the container of a pod that runs one.
func gateway(pod corev1.PodSpec) *corev1.Container {
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if c.Name == "lockgw" {
			return &c
		}
	}
	return nil
}

func TestSidecar(t *testing.T) {
	pod := pods(t)["app"]
	c := pod.InitContainers[0]
	if c.Name != "lockgw" || c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
		t.Errorf("first init container %s with restart policy %v, want a native sidecar", c.Name, c.RestartPolicy)
	}
	if c.StartupProbe == nil || !slices.Contains(c.StartupProbe.Exec.Command, "/livez") {
		t.Errorf("startup probe %v, want one on /livez: without it the job would start before the gateway", c.StartupProbe)
	}
	sockets := func(v corev1.Volume) bool { return v.Name == "lockgw-sockets" && v.EmptyDir != nil }
	if !slices.ContainsFunc(pod.Volumes, sockets) {
		t.Error("the sockets are in no emptyDir")
	}
	path := pod.Containers[0].Env[0].Value
	for _, c := range []corev1.Container{c, pod.Containers[0]} {
		mounted := func(m corev1.VolumeMount) bool {
			return m.Name == "lockgw-sockets" && strings.HasPrefix(path, m.MountPath+"/")
		}
		if !slices.ContainsFunc(c.VolumeMounts, mounted) {
			t.Errorf("%s does not mount the directory of %s", c.Name, path)
		}
	}
}

// Each file that lockgw.yaml or the URL of the store names under the directory of secrets
// is in a Secret that the gateway mounts.
func TestSecretsAreMounted(t *testing.T) {
	named := regexp.MustCompile(`/var/run/secrets/lockgw/\w+`)
	found := map[string]bool{}
	for name, pod := range pods(t) {
		if gateway(pod) == nil || name == "app" || strings.HasSuffix(name, " test") {
			continue
		}
		objects := rendered(t, name)
		text := objects["ConfigMap"].(*corev1.ConfigMap).Data["lockgw.yaml"]
		if s, ok := objects["Secret"].(*corev1.Secret); ok {
			text += s.StringData["url"] + string(s.Data["url"])
		}
		for _, dir := range named.FindAllString(text, -1) {
			found[dir] = true
			mounts := gateway(pod).VolumeMounts
			i := slices.IndexFunc(mounts, func(m corev1.VolumeMount) bool { return m.MountPath == dir && m.ReadOnly })
			if i < 0 || !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mounts[i].Name && v.Secret != nil }) {
				t.Errorf("%s: nothing is mounted at %s", name, dir)
			}
		}
	}
	for _, what := range []string{"tls", "admin", "access", "backend"} {
		if !found["/var/run/secrets/lockgw/"+what] {
			t.Errorf("no case has a file of %s", what)
		}
	}
}

// A stop has more time than it takes at most.
func TestTerminationGracePeriod(t *testing.T) {
	for name, want := range map[string]int64{"daemonset": 30, "deployment": 30, "daemonset-full": 90} {
		if got := pods(t)[name].TerminationGracePeriodSeconds; got == nil || *got != want {
			t.Errorf("%s has a grace period of %v, want %d s", name, got, want)
		}
	}
}

// Only the preparation of the node's directories is more than the restricted pod
// security standard allows.
func TestRestricted(t *testing.T) {
	for name, pod := range pods(t) {
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			if name == "app" && c.Name != "lockgw" || c.Name == "directories" {
				continue
			}
			s := c.SecurityContext
			switch {
			case s == nil:
				t.Errorf("%s: %s has no security context", name, c.Name)
			case s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser == 0:
				t.Errorf("%s: %s may run as root", name, c.Name)
			case s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem:
				t.Errorf("%s: %s may write its image", name, c.Name)
			case s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation:
				t.Errorf("%s: %s may gain rights", name, c.Name)
			case s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0:
				t.Errorf("%s: %s has the capabilities %v", name, c.Name, s.Capabilities)
			case s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
				t.Errorf("%s: %s has the seccomp profile %v", name, c.Name, s.SeccompProfile)
			}
		}
		if name != "app" && (pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken) {
			t.Errorf("%s: gets a token of Kubernetes, which nothing in it needs", name)
		}
	}
}

// The user of the gateway is an administrator on its sockets, so no client has it.
func TestUserOfItsOwn(t *testing.T) {
	for name, pod := range pods(t) {
		if c := gateway(pod); c != nil && *c.SecurityContext.RunAsUser != 7420 {
			t.Errorf("%s: the gateway runs as %d, want 7420", name, *c.SecurityContext.RunAsUser)
		}
		for _, c := range pod.Containers {
			if s := c.SecurityContext; c.Name == "test" && *s.RunAsUser == 7420 {
				t.Errorf("%s: %s runs as the user of the gateway", name, c.Name)
			}
		}
	}
}

// Without certificates nothing listens where other pods could come to.
func TestPortNeedsCertificates(t *testing.T) {
	for name, pod := range pods(t) {
		c := gateway(pod)
		if c == nil {
			continue
		}
		certificates := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "lockgw-tls" })
		if open := len(c.Ports) > 0; open != certificates {
			t.Errorf("%s: a port is open: %v, certificates: %v", name, open, certificates)
		}
	}
	for name := range cases(t) {
		text := rendered(t, name)["ConfigMap"].(*corev1.ConfigMap).Data["lockgw.yaml"]
		if strings.Contains(text, "listen") && !strings.Contains(text, "client_ca_file: /") {
			t.Errorf("%s: listens without asking for a client certificate:\n%s", name, text)
		}
	}
}

// Secrets are in Secrets alone.
func TestSecrets(t *testing.T) {
	objects := rendered(t, "daemonset")
	secret := objects["Secret"].(*corev1.Secret)
	if got := secret.StringData["url"]; got != "redis://:password@redis:6379" {
		t.Errorf("the Secret has %q, want the URL of the store", got)
	}
	delete(objects, "Secret")
	for kind, object := range objects {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "password") {
			t.Errorf("the %s has the password of the store", kind)
		}
	}
	if rendered(t, "sidecar-tls")["Secret"] != nil {
		t.Error("a Secret is made although there is one")
	}
	want := corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "store"}, Key: "address"}
	for _, e := range gateway(pods(t)["sidecar-tls test"]).Env {
		if e.Name == "LOCKGW_BACKEND_URL" && *e.ValueFrom.SecretKeyRef != want {
			t.Errorf("the URL of the store is from %v, want %v", e.ValueFrom.SecretKeyRef, want)
		}
	}
}

func TestDaemonSet(t *testing.T) {
	objects := rendered(t, "daemonset-full")
	service := objects["Service"].(*corev1.Service)
	if p := service.Spec.InternalTrafficPolicy; p == nil || *p != corev1.ServiceInternalTrafficPolicyLocal {
		t.Errorf("internalTrafficPolicy = %v, want Local: a caller has to get the gateway of its node", p)
	}
	for _, v := range objects["DaemonSet"].(*appsv1.DaemonSet).Spec.Template.Spec.Volumes {
		if v.HostPath != nil && *v.HostPath.Type != corev1.HostPathDirectoryOrCreate {
			t.Errorf("%s is mounted as %s: a socket that is mounted itself is dead after a restart", v.Name, *v.HostPath.Type)
		}
	}
	if objects["PodDisruptionBudget"] != nil || rendered(t, "deployment")["PodDisruptionBudget"] == nil {
		t.Error("want a PodDisruptionBudget of the deployment alone")
	}
}

func TestNetworkPolicy(t *testing.T) {
	policy := func(name string) networkingv1.NetworkPolicySpec {
		return rendered(t, name)["NetworkPolicy"].(*networkingv1.NetworkPolicy).Spec
	}
	if got := policy("daemonset"); len(got.Ingress) != 0 || len(got.PolicyTypes) != 2 {
		t.Errorf("a daemonset without certificates lets in %v", got.Ingress)
	}
	full := policy("daemonset-full")
	if got := full.Ingress[0].Ports[0].Port.IntValue(); got != 7420 {
		t.Errorf("lets in to port %d, want 7420", got)
	}
	var out []int
	for _, rule := range full.Egress {
		for _, p := range rule.Ports {
			out = append(out, p.Port.IntValue())
		}
	}
	if want := []int{53, 53, 6379, 26379}; !slices.Equal(out, want) {
		t.Errorf("lets out to the ports %d, want %d", out, want)
	}
}

// The ports to which the gateways may go follow the store, unless they are set.
func TestStorePorts(t *testing.T) {
	for url, want := range map[string][]int{
		"redis://redis": {6379}, "rediss+sentinel://a,b,c/main": {6379, 26379}, "redis+cluster://redis": {6379}, "redlock://a,b,c": {6379},
		"postgres://lockgw@db/locks": {5432}, "etcd://a,b,c": {2379}, "mysql://lockgw@db/locks": {3306}, "zookeeper://a,b,c": {2181},
		"memory://": nil, "": {6379},
		"redis://:a:1@redis:6380/0": {6379, 6380}, "redis://[fd00::1]": {6379}, "redis://[fd00::1]:6380?db=1": {6379, 6380},
		"rediss+sentinel://a:26380,b:26380,c/main": {6379, 26379, 26380}, "redlock://a:7001,b:7002,c": {6379, 7001, 7002},
		"postgres://lockgw:p@db:6432/locks?a=b:9@c": {5432, 6432}, "etcd://a:2379,b:12379/locks": {2379, 12379},
	} {
		values := readValues(t, "testdata/values/daemonset.yaml")
		values["backend"] = map[string]any{"url": url}
		if url == "" {
			values["backend"] = map[string]any{"existingSecret": map[string]any{"name": "store"}}
		}
		if got := storePorts(t, values); !slices.Equal(got, want) {
			t.Errorf("%q: lets out to the ports %d, want %d", url, got, want)
		}
		values["networkPolicy"] = map[string]any{"storePorts": []any{7000}}
		if got := storePorts(t, values); !slices.Equal(got, []int{7000}) {
			t.Errorf("%q: lets out to the ports %d, set is 7000", url, got)
		}
	}
}

func storePorts(t *testing.T, values map[string]any) (ports []int) {
	t.Helper()
	policy := decode(t, mustRender(t, loadChart(t), values))["NetworkPolicy"].(*networkingv1.NetworkPolicy)
	for _, rule := range policy.Spec.Egress {
		for _, p := range rule.Ports {
			if n := p.Port.IntValue(); n != 53 {
				ports = append(ports, n)
			}
		}
	}
	return ports
}

// The number that a cluster gives to a namespace may be a large one, and a template would
// write that as 1.00065e+09.
func TestLargeGroup(t *testing.T) {
	values := readValues(t, "testdata/values/daemonset.yaml")
	values["daemonset"] = map[string]any{"group": float64(1000650000)} // as a file gives it to Helm
	objects := decode(t, mustRender(t, loadChart(t), values))
	if text := objects["ConfigMap"].(*corev1.ConfigMap).Data["lockgw.yaml"]; !strings.Contains(text, `group: "1000650000"`) {
		t.Errorf("the sockets have another group than 1000650000:\n%s", text)
	}
	pod := objects["DaemonSet"].(*appsv1.DaemonSet).Spec.Template.Spec
	if got := *gateway(pod).SecurityContext.RunAsGroup; got != 1000650000 {
		t.Errorf("the gateway runs in the group %d, want 1000650000", got)
	}
	notes := mustRender(t, loadChart(t), values)["lockgw/templates/NOTES.txt"]
	if !strings.Contains(notes, "has 1000650000 in securityContext.supplementalGroups") {
		t.Errorf("the notes name another group than 1000650000:\n%s", notes)
	}
}

// A changed configuration or store makes new pods.
func TestChecksum(t *testing.T) {
	sums := map[string]bool{}
	for _, change := range []map[string]any{{}, {"config": map[string]any{"lock": map[string]any{"ttl": "1m"}}}, {"backend": map[string]any{"url": "redis://other:1"}}} {
		values := readValues(t, "testdata/values/daemonset.yaml")
		for key, value := range change {
			values[key] = value
		}
		d := decode(t, mustRender(t, loadChart(t), values))["DaemonSet"].(*appsv1.DaemonSet)
		sums[d.Spec.Template.Annotations["checksum/config"]] = true
	}
	if len(sums) != 3 {
		t.Errorf("three configurations have %d checksums", len(sums))
	}
}
