package conn

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/dialer"
)

// several is an address with more than one host in it, taken apart.
type several struct {
	hosts []string // host:port
	path  string
	query url.Values
	// one is the address of the first host alone, without path and query.
	one string
}

// readSeveral takes an address apart whose hosts are separated by commas, which
// package url does not read. An error never contains the password.
func readSeveral(rawurl, port string) (several, error) {
	scheme, rest, _ := strings.Cut(rawurl, "://")
	authority, tail := rest, ""
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		authority, tail = rest[:at], rest[at:]
	}
	if strings.Contains(tail, "@") {
		return several{}, errAtSign
	}
	login := ""
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		login, authority = authority[:at+1], authority[at+1:]
	}
	s := several{}
	for i, host := range strings.Split(authority, ",") {
		addr, err := withPort(host, port)
		if err != nil { // without the text, which may be a password that lacks its @
			return several{}, fmt.Errorf("redis address: host %d of %d %w", i+1, strings.Count(authority, ",")+1, err)
		}
		s.hosts = append(s.hosts, addr)
	}
	base, _, _ := strings.Cut(scheme, "+") // redis or rediss
	u, err := parseURL(base + "://" + login + s.hosts[0] + "/" + queryOf(tail))
	if err != nil {
		return several{}, err
	}
	if s.query, err = url.ParseQuery(u.RawQuery); err != nil {
		return several{}, fmt.Errorf("redis address: %w", err)
	}
	path, _, _ := strings.Cut(tail, "?")
	if s.path, err = url.PathUnescape(strings.Trim(path, "/")); err != nil {
		return several{}, errors.New("redis address: the path has a % that is not followed by two hexadecimal digits")
	}
	s.one = base + "://" + login + s.hosts[0]
	return s, nil
}

// queryOf keeps ? and #, for parseURL to judge.
func queryOf(tail string) string {
	if at := strings.IndexAny(tail, "?#"); at >= 0 {
		return tail[at:]
	}
	return ""
}

// options of each server, which db says the number of the database of.
func (s several) options(db string) (*goredis.Options, error) {
	opt, err := Options(s.one + "/" + db + "?" + s.query.Encode())
	if err != nil {
		return nil, err
	}
	if opt.TLSConfig != nil {
		opt.TLSConfig.ServerName = "" // each server is asked for its own name
	}
	return opt, nil
}

func withPort(host, port string) (string, error) {
	if host == "" {
		return "", errors.New("is missing between the commas")
	}
	addr, ok := dialer.HostPort(host, port)
	if !ok {
		return "", errors.New("is not written like host or host:port, such as h.example.net:6379 or [::1]:6379")
	}
	return addr, nil
}

// isPort: a server can listen there.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n != 0
}

// secretIn is the file that name_file says; Path "": none.
func secretIn(q url.Values, name string) dialer.File {
	return dialer.File{Setting: name + "_file", Path: q.Get(name + "_file")}
}

// take removes a setting from q, and reads it from the file that name_file says.
func take(q url.Values, name string) (string, error) {
	value, file := q.Get(name), q.Get(name+"_file")
	q.Del(name)
	q.Del(name + "_file")
	switch {
	case file == "":
		return value, nil
	case value != "":
		return "", fmt.Errorf("redis address: %s and %s_file are both given", name, name)
	}
	text, err := dialer.ReadSecret(file)
	if err != nil {
		return "", fmt.Errorf("redis address: %s_file: %w", name, err)
	}
	return string(text), nil
}
