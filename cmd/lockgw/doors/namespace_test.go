package doors

import (
	"strings"
	"syscall"
	"testing"
)

// A gateway in a user namespace that has only some users sees all others as the user
// nobody. Whoever that is has none of the rights that rules give to nobody, and nothing
// together with the next one who looks like it.
func TestUnmappedUsersAreNobodyInParticular(t *testing.T) {
	one := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}
	g := start(t, setup{
		attr: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: one, GidMappings: one},
		config: `access:
  rules:
    - {who: ["user:65534", "group:65534"], may: admin, locks: "reports/*"}
    - {who: anyone, may: lock, locks: "open/*"}
`,
	})
	g.must(201, 0, "unix", "PUT", "/v1/locks/reports%2Fa", "", "") // the user of the gateway
	a := g.must(403, mallory, "unix", "PUT", "/v1/locks/reports%2Fb", "", "")
	if !strings.Contains(a.body, "rule 2 allows lock") || strings.Contains(a.body, "rule 1") {
		t.Errorf("the refusal says %s, want the rule for anyone alone", a.body)
	}
	g.must(403, mallory, "unix", "DELETE", "/v1/locks/reports%2Fa?force=true", "", "")
	g.must(201, mallory, "unix", "PUT", "/v1/locks/open%2Fa", "", "")

	own := command(mallory, "sleep", "600")
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = own.Process.Kill(); _ = own.Wait() }()
	g.must(400, mallory, "unix", "PUT", "/v1/locks/open%2Fb?bind=pid:"+pid(own.Process), "", "")
}
