package dialer

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Scheme is how the URLs of a store with several members are written, beside what all such have.
type Scheme struct {
	Name string
	Port string // where none is named
	Path string // where there is none: of all that is stored, without slashes around it
	What string // what the path is called
	// PasswordAlone: who logs in need not have a name.
	PasswordAlone bool
	// Settings are those of the query that are the store's own, in the order in which they are
	// told; the others are tls, ca_file, cert_file and key_file.
	Settings []string
	// Set reads one of them. Its error is told behind the name of the store.
	Set func(name, value string) error
}

// Address is what the URL of such a store says.
type Address struct {
	Members        []string // host:port, each once
	Twice          string   // a member that is named again; "": none
	Path           string   // without a / before or behind it
	User, Password string
	TLS            *TLS // nil: none
}

// Parse reads
//
//	scheme://[user:password@]host[:port][,host[:port]...][/path]
//
// with settings in the query. Errors do not have the password.
func (s *Scheme) Parse(raw string) (a Address, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s address: %w", s.Name, err)
		}
	}()
	rest, ok := strings.CutPrefix(raw, s.Name+"://")
	if !ok {
		return a, fmt.Errorf("write it like %s://host1:%[2]s,host2:%[2]s,host3:%[2]s", s.Name, s.Port)
	}
	rest, query, _ := strings.Cut(rest, "?")
	rest, path, _ := strings.Cut(rest, "/")
	if a.Path = strings.TrimSuffix(path, "/"); a.Path == "" {
		a.Path = s.Path
	}
	if strings.ContainsAny(a.Path, "@ #") {
		return a, fmt.Errorf("the %s after the / has an @, a # or a space in it; a / in a password is written as %%2F", s.What)
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := a.login(rest[:at], s); err != nil {
			return a, err
		}
		rest = rest[at+1:]
	}
	if err := a.hosts(rest, s.Port); err != nil {
		return a, err
	}
	err = a.settings(query, s)
	return a, err
}

func (a *Address) login(userinfo string, s *Scheme) error {
	user, password, _ := strings.Cut(userinfo, ":")
	var errs [2]error
	a.User, errs[0] = url.PathUnescape(user)
	a.Password, errs[1] = url.PathUnescape(password)
	switch {
	case errors.Join(errs[:]...) != nil: // whose words quote the password
		return errors.New("special characters in user and password have to be percent-encoded")
	case a.Password == "" && s.PasswordAlone:
		return errors.New("there is an @, but no password before it")
	case a.Password == "", a.User == "" && !s.PasswordAlone:
		return errors.New("there is an @, but not user:password before it")
	}
	return nil
}

func (a *Address) hosts(list, port string) error {
	for i, h := range strings.Split(list, ",") {
		if h == "" {
			return fmt.Errorf("member %d is empty", i+1)
		}
		addr, ok := HostPort(h, port)
		if !ok {
			return fmt.Errorf("member %d has to be host or host:port, such as h.example.net:%[2]s or [::1]:%[2]s", i+1, port)
		}
		if slices.Contains(a.Members, addr) {
			a.Twice = addr
		} else {
			a.Members = append(a.Members, addr)
		}
	}
	return nil
}

func (a *Address) settings(query string, s *Scheme) error {
	q, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("what follows the ? cannot be read")
	}
	for name, values := range q {
		if len(values) > 1 {
			return fmt.Errorf("%s is given %d times", name, len(values))
		}
		switch v := values[0]; {
		case slices.Contains(s.Settings, name):
			if err := s.Set(name, v); err != nil {
				return err
			}
		case name == "tls" && v != "true" && v != "false":
			return fmt.Errorf("tls has to be true or false, but is %q", v)
		case name != "tls" && name != "ca_file" && name != "cert_file" && name != "key_file":
			return fmt.Errorf("unknown setting %q; there are %s, ca_file, cert_file and key_file", name, strings.Join(append(slices.Clone(s.Settings), "tls"), ", "))
		}
	}
	a.TLS, err = ReadTLS(q, q.Get("tls") == "true", "tls=true")
	return err
}
