package config

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session/access"
)

// readSecrets reads the files that values are in. Keys in bad are left out.
func (s *Settings) readSecrets(bad map[string]bool) (problems []error) {
	try := func(key string, read func() error) {
		if err := read(); err != nil && !bad[key] {
			problems = append(problems, s.problem(key, err))
			bad[key] = true
		}
	}
	try("backend.url_file", s.readBackendURL)
	try("backend.password_file", s.readBackendPassword)
	s.Admission = access.Config{
		Rules: s.Access.Rules.rules(), Rate: access.Rate{PerSecond: s.Limits.RequestsPerSecond, Burst: s.Limits.RequestBurst},
	}
	try("admin.token_file", func() (err error) {
		s.Admission.AdminToken, err = cli.ReadAdminToken(s.Admin.TokenFile)
		return err
	})
	try("access.tokens_file", func() (err error) {
		s.Admission.Tokens, err = readTokens(s.Access.TokensFile)
		return err
	})
	try("admin.token_file", s.checkAdminToken)
	s.Warnings = append(s.Warnings, s.openSecrets()...)
	s.Warnings = append(s.Warnings, openDir("socket.dir", s.Socket.Dir)...)
	s.Warnings = append(s.Warnings, openDir("state_dir", s.StateDir)...)
	return problems
}

// checkAdminToken refuses one that is an access token, too: its caller would be an
// administrator, and could lock nothing.
func (s *Settings) checkAdminToken() error {
	if name := s.Admission.Tokens.NameOf(s.Admission.AdminToken); name != "" {
		return fmt.Errorf("%s repeats the token of %s in access.tokens_file; give each a token of its own", s.Admin.TokenFile, name)
	}
	return nil
}

func readTokens(path string) (access.Tokens, error) {
	if path == "" {
		return access.Tokens{}, nil
	}
	b, err := cli.ReadSecret(path)
	if err != nil {
		return access.Tokens{}, err
	}
	tokens, err := access.ParseTokens(b)
	if err != nil {
		return access.Tokens{}, fmt.Errorf("%s: %w", path, err)
	}
	return tokens, nil
}

func (s *Settings) readBackendURL() error {
	path := s.Backend.URLFile
	if path == "" {
		return nil
	}
	if origin := s.Origins["backend.url"]; origin != originDefault {
		return fmt.Errorf("backend.url is given, too (%s); only one of both can count", origin)
	}
	b, err := cli.ReadSecret(path)
	if err != nil {
		return err
	}
	if bytes.ContainsAny(b, " \t\r\n") {
		return errors.New(path + " holds more than one word")
	}
	s.Backend.URL, s.Origins["backend.url"] = string(b), path
	return nil
}

// readBackendPassword puts the password into the URL, where every store looks for it.
func (s *Settings) readBackendPassword() error {
	s.withoutPassword = s.Backend.URL
	path := s.Backend.PasswordFile
	if path == "" {
		return nil
	}
	b, err := cli.ReadSecret(path)
	if err != nil {
		return err
	}
	s.Backend.URL, err = withPassword(s.Backend.URL, string(b))
	return err
}

// withPassword: package url does not know the URLs that name several hosts.
func withPassword(raw, password string) (string, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || scheme == "memory" {
		return raw, errors.New("backend.url names no store that takes a password")
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	user := ""
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		user, rest = rest[:at], rest[at+1:]
	}
	if strings.Contains(user, ":") {
		return raw, errors.New("backend.url has a password, too; only one of both can count")
	}
	return scheme + "://" + user + url.UserPassword("", password).String() + "@" + rest, nil
}

// openSecrets warns of files with secrets that every user of the machine may read.
func (s *Settings) openSecrets() (warnings []string) {
	for _, f := range fields() {
		if !f.secret {
			continue
		}
		path := f.text(&s.Config)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o006 != 0 { // a directory is no file with a secret
			warnings = append(warnings, fmt.Sprintf("%s: every user of this machine may use %s; `chmod o= %s` keeps it secret", f.key, path, path))
		}
	}
	return warnings
}

// openDir warns of a directory that a group may write in. It is no error, because nobody else
// may be in the group, or the gateway may write there by it alone.
func openDir(key, dir string) (warnings []string) {
	if info, err := os.Stat(dir); err == nil && info.IsDir() && info.Mode()&0o020 != 0 {
		warnings = append(warnings, fmt.Sprintf("%s: whoever is in the group of %s may replace what is in it, and so see the tokens of others or "+
			"make up sessions; the gateway's user should own it, and `chmod g-w %s`", key, dir, dir))
	}
	return append(warnings, openAbove(key, dir)...)
}

// openAbove warns of the first directory above dir in which another user can put a directory of
// his own in the place of the one that leads to dir. What the gateway looks at, at its start, is
// dir alone. Whoever owns / counts as root, which has another number in a user namespace.
func openAbove(key, dir string) []string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil // that is told where it is made
	}
	root := ownerOf("/")
	for below := dir; below != "/"; below = filepath.Dir(below) {
		above := filepath.Dir(below)
		info, err := os.Stat(above)
		if err != nil {
			continue // it is made with dir
		}
		owner := ownerOf(above)
		switch {
		case owner != 0 && owner != root && owner != os.Geteuid():
			return []string{fmt.Sprintf("%s: %s belongs to the user with id %d, who may put another directory in the place of %s, and so see the "+
				"tokens of others; name a directory below those of root or of the gateway's user", key, above, owner, below)}
		case info.Mode()&0o002 != 0 && info.Mode()&os.ModeSticky == 0:
			return []string{fmt.Sprintf("%s: every user of this machine may put another directory in the place of %s, and so see the tokens of others; "+
				"`chmod o-w %s`, or `chmod +t %s`", key, below, above, above)}
		}
	}
	return nil
}

// ownerOf is -1 if nobody can be told.
func ownerOf(path string) int {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}
