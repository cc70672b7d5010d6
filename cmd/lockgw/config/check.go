package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/postgres"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// check reports every value that is well formed and wrong all the same, because of another
// key or of a rule that no type can express. Keys in bad are left out.
func (s Settings) check(bad map[string]bool) (problems []error) {
	report := func(key string, err error) {
		if err != nil && !bad[key] {
			problems = append(problems, s.problem(key, err))
		}
	}
	report("node", cmp.Or(checkNotEmpty(s.Node), checkText(s.Node)))
	report("backend.key_prefix", errors.Join(checkText(s.Backend.KeyPrefix), backend.CheckKeyPrefix(s.Backend.KeyPrefix)))
	report("backend.url", CheckBackendURL(s.Backend.URL))
	report("backend.fence_floor", s.checkFenceFloor(time.Now()))
	report("backend.postgres.listen_url", cmp.Or(checkLogin(s.Backend.Postgres.ListenURL), postgres.CheckListenURL(s.Backend.Postgres.ListenURL)))
	report("state_dir", checkNotEmpty(s.StateDir))
	report("socket.dir", checkSocketDir(s.Socket.Dir))
	_, err := s.Socket.GroupID()
	report("socket.group", err)
	for i, address := range s.HTTP.Listen {
		report("http.listen", CheckListen(address, s.HTTP.TLS, s.Access.TokensFile != ""))
		report("http.listen", checkListenOnce(address, s.HTTP.Listen[:i]))
	}
	for _, name := range s.HTTP.AllowedHosts {
		report("http.allowed_hosts", checkHost(name))
	}
	report("http.tls.cert_file", s.checkTLS())
	report("limits.min_ttl", s.checkMinTTL())
	report("limits.max_ttl", s.checkTTLRange())
	report("lock.ttl", s.checkTTL())
	report("session.keepalive", s.checkKeepalive())
	report("fairness.retain", s.checkRetain())
	return problems
}

// checkText of what is shown to people and becomes part of keys in a store.
func checkText(text string) error {
	if len(text) > 255 {
		return fmt.Errorf("is %d bytes long, the limit is 255", len(text))
	}
	for _, r := range text {
		if unicode.IsControl(r) || unicode.IsSpace(r) || r == unicode.ReplacementChar {
			return fmt.Errorf("%q must not contain control characters or white space", text)
		}
	}
	return nil
}

func checkNotEmpty(text string) error {
	if text == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func checkSocketDir(dir string) error {
	if err := checkNotEmpty(dir); err != nil {
		return err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	return cli.CheckSocketPath(filepath.Join(abs, cli.RespSocket))
}

// largestID is that of a user or group: the kernel takes the next one for none, and only the
// last 32 bits of a larger one.
const largestID = 1<<32 - 2

// GroupID is the number of Group, or -1 if there is none.
func (s Socket) GroupID() (int, error) {
	if s.Group == "" {
		return -1, nil
	}
	if gid, err := strconv.ParseInt(s.Group, 10, 64); err == nil && gid >= 0 {
		if gid > largestID {
			return 0, fmt.Errorf("%d is the number of no group, the largest is %d", gid, int64(largestID))
		}
		return int(gid), nil
	}
	g, err := user.LookupGroup(s.Group)
	if err != nil {
		return 0, fmt.Errorf("no group %q on this machine", s.Group)
	}
	return strconv.Atoi(g.Gid)
}

// checkHost refuses what no request is ever addressed to, as it is compared with the Host: that
// is a name or an address, whose port does not count. A null is meant for none, and would be
// taken for a name where values are texts, as they are in the environment and in a list.
func checkHost(name string) error {
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	switch {
	case strings.EqualFold(name, "null"):
		return fmt.Errorf("%q is no host name; leave the value empty for none", name)
	case err != nil && strings.ContainsFunc(name, func(r rune) bool { return !inHostName(r) }):
		return fmt.Errorf("%q is no host name or address; write it without a scheme, a port or a wildcard, as in host-a.example or 10.0.0.5", name)
	}
	return nil
}

// inHostName: a browser writes other characters as xn--.
func inHostName(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._", r)
}

// checkTLS reads the files, because a gateway that cannot read them would not start.
func (s Settings) checkTLS() error {
	t := s.HTTP.TLS
	if t.Enabled() && (t.CertFile == "" || t.KeyFile == "") {
		return errors.New("http.tls needs both cert_file and key_file")
	}
	_, err := t.Load(s.Access.TokensFile != "")
	return err
}

// checkFenceFloor refuses what cannot be a fence: they are microseconds since 1970 at least,
// and a number that is far ahead would never be undone.
func (s Settings) checkFenceFloor(now time.Time) error {
	if most := now.AddDate(1, 0, 0).UnixMicro(); int64(s.Backend.FenceFloor) > most {
		return fmt.Errorf("%d is more than a year ahead of the clock, which says %d; lockgw floor prints the number of a store", s.Backend.FenceFloor, now.UnixMicro())
	}
	return nil
}

// mostRetained is how long a name may be kept that nobody uses: programs outside lockgw
// and callers elsewhere that do not wait are kept out meanwhile.
const mostRetained = time.Second

func (s Settings) checkRetain() error {
	r := s.Fairness.Retain
	switch {
	case r > mostRetained:
		return fmt.Errorf("%s is longer than %s, for which nobody may be kept from a name that nobody uses", cli.Duration(r), cli.Duration(mostRetained))
	case r > s.Lock.TTL/3:
		return fmt.Errorf("%s is longer than a third of lock.ttl, which is %s (%s)", cli.Duration(r), cli.Duration(s.Lock.TTL), s.Origins["lock.ttl"])
	}
	return nil
}
