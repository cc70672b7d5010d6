package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var (
	makes   = regexp.MustCompile(`\bmake ([a-z][a-z-]*)`)
	targets = regexp.MustCompile(`(?i)\btarget: \[(.*)\]`)
	scripts = regexp.MustCompile(`\bdeploy/[\w./-]+\.sh\b`)
)

// The forges call targets of the Makefile and scripts that there are, and so do what
// anybody can do elsewhere.
func TestWorkflows(t *testing.T) {
	for _, file := range []string{
		".github/workflows/ci.yml", ".github/workflows/release.yml", ".gitea/workflows/ci.yml", ".gitea/workflows/release.yml", ".gitlab-ci.yml",
	} {
		text := read(t, file)
		var parsed map[string]any
		if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		words := 0
		for _, m := range makes.FindAllStringSubmatch(text, -1) {
			checkOurs(t, "make", m[1])
			words++
		}
		for _, m := range targets.FindAllStringSubmatch(text, -1) {
			for target := range strings.SplitSeq(m[1], ", ") {
				checkOurs(t, "make", target)
				words++
			}
		}
		for _, script := range scripts.FindAllString(text, -1) {
			if _, err := os.Stat(filepath.Join(root, script)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		if words == 0 {
			t.Errorf("%s calls no target of the Makefile", file)
		}
	}
}

type workflow struct {
	Jobs map[string]struct {
		Container string
		Steps     []struct{ Uses, Run string }
	}
}

// A step finds what it needs, whatever the steps before it have left.
func TestWorkflowSteps(t *testing.T) {
	for _, file := range []string{
		".github/workflows/ci.yml", ".github/workflows/release.yml", ".gitea/workflows/ci.yml", ".gitea/workflows/release.yml",
	} {
		var w workflow
		if err := yaml.Unmarshal([]byte(read(t, file)), &w); err != nil || len(w.Jobs) == 0 {
			t.Fatalf("%s: %d jobs, %v", file, len(w.Jobs), err)
		}
		for name, job := range w.Jobs {
			// In a container the forge's runner brings no node, and the image of Go has none.
			node, rootAtHome := job.Container == "", false
			for _, step := range job.Steps {
				sudo := strings.HasPrefix(step.Run, "sudo ")
				node = node || strings.Contains(step.Run, "apt-get install") && strings.Contains(step.Run, "nodejs")
				if step.Uses != "" && !node {
					t.Errorf("%s, %s: %s runs before anything has installed node", file, name, step.Uses)
				}
				if makes.MatchString(step.Run) && !sudo && rootAtHome {
					t.Errorf("%s, %s: %q cannot use the caches of Go, in which root has built before", file, name, step.Run)
				}
				rootAtHome = rootAtHome || sudo && strings.Contains(step.Run, "HOME")
			}
		}
	}
}

// The notes of a release are the part of the CHANGELOG with its version, and no other.
func TestReleaseNotes(t *testing.T) {
	changelog := filepath.Join(t.TempDir(), "CHANGELOG.md")
	if err := os.WriteFile(changelog, []byte("# Changelog\n\n## Unreleased\n\n- later\n\n## 1.2.0 (2026-01-02)\n\n- a\n- b\n\n## 1.2\n\n- old\n\n## 1.1.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{"1.2.0": "- a\n- b\n", "1.2": "- old\n", "1.1.0": "", "2.0.0": ""} {
		got, err := shell(t, filepath.Join(root, "deploy/release/notes.sh")+" "+version+" "+changelog)
		if (err != nil) != (want == "") || got != want {
			t.Errorf("the notes of %s are %q, %v; want %q", version, got, err, want)
		}
	}
}

// A package of what came after a release is newer than that, for package managers, too.
func TestVersionOfPackages(t *testing.T) {
	makefile, err := filepath.Abs(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, tt := range []struct{ do, want string }{
		{"git init -q .", "0.1.0-dev "},
		{commit, "0.1.0-dev "},
		{"git tag v1.2.0", "1.2.0 "},
		{commit, "1.2.0+1.g"},
		{"git tag v1.3.0-rc.1", "1.3.0-rc.1 "},
		{commit + "; " + commit, "1.3.0-rc.1+2.g"},
	} {
		got, err := shell(t, "{ "+tt.do+"; } && make -s -n -f "+makefile+" packages")
		if want := "deploy/packages/build.sh " + tt.want; err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("after %q make packages runs %q, %v; want %s", tt.do, got, err, want)
		}
	}
}

const commit = "git -c user.name=a -c user.email=a@example.net commit -q --allow-empty -m a"

func shell(t *testing.T, line string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-c", line).Output()
	return string(out), err
}
