package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

const (
	defaultPrefix = "lockgw"
	defaultPort   = "2379"

	// attempts is how often the library sends what it may send again, such as a read, or
	// anything after a new login. By default it goes on to the end of the request's time,
	// and then does not say what was wrong.
	attempts     = 3
	loginTimeout = 2 * time.Second
	// A member that does not answer is found out by pings; etcd takes none more often.
	pingEvery   = 5 * time.Second
	pingTimeout = 2 * time.Second
	// A member that comes back is found again within a second.
	reconnectMost = time.Second
)

// address is what an etcd:// URL says.
type address struct {
	members        []string // host:port
	prefix         string   // of all keys, without the / behind it
	user, password string
	tls            *tls.Config // nil: none
}

// CheckURL says what is wrong with an etcd:// URL. The error does not have the password.
func CheckURL(raw string) error {
	_, err := parseAddress(raw)
	return err
}

// parseAddress reads
//
//	etcd://[user:password@]host[:2379][,host[:2379]...][/prefix]
//
// with, in the query, tls=true, ca_file, cert_file and key_file.
func parseAddress(raw string) (address, error) {
	a := address{prefix: defaultPrefix}
	rest, ok := strings.CutPrefix(raw, "etcd://")
	if !ok {
		return a, errors.New("etcd address: write it like etcd://host1:2379,host2:2379,host3:2379")
	}
	rest, query, _ := strings.Cut(rest, "?")
	rest, prefix, _ := strings.Cut(rest, "/")
	if prefix = strings.TrimSuffix(prefix, "/"); prefix != "" {
		a.prefix = prefix
	}
	if strings.ContainsAny(a.prefix, "@ #") {
		return a, errors.New("etcd address: the prefix after the / has an @, a # or a space in it; a / in a password is written as %2F")
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := a.login(rest[:at]); err != nil {
			return a, err
		}
		rest = rest[at+1:]
	}
	if err := a.hosts(rest); err != nil {
		return a, err
	}
	return a, a.settings(query)
}

func (a *address) login(userinfo string) error {
	user, password, _ := strings.Cut(userinfo, ":")
	var errs [2]error
	a.user, errs[0] = url.PathUnescape(user)
	a.password, errs[1] = url.PathUnescape(password)
	switch {
	case errors.Join(errs[:]...) != nil: // whose words quote the password
		return errors.New("etcd address: special characters in user and password have to be percent-encoded")
	case a.user == "" || a.password == "": // the library would not log in at all
		return errors.New("etcd address: there is an @, but not user:password before it")
	}
	return nil
}

func (a *address) hosts(list string) error {
	for i, h := range strings.Split(list, ",") {
		if h == "" {
			return fmt.Errorf("etcd address: member %d is empty", i+1)
		}
		host, port, err := net.SplitHostPort(h)
		if err != nil {
			host, port = strings.Trim(h, "[]"), defaultPort
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" || strings.ContainsAny(host, " @#") {
			return fmt.Errorf("etcd address: member %d has to be host or host:port", i+1)
		}
		if addr := net.JoinHostPort(host, port); !slices.Contains(a.members, addr) {
			a.members = append(a.members, addr)
		}
	}
	return nil
}

func (a *address) settings(query string) error {
	q, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("etcd address: what follows the ? cannot be read")
	}
	for name, values := range q {
		if len(values) > 1 {
			return fmt.Errorf("etcd address: %s is given %d times", name, len(values))
		}
		switch v := values[0]; name {
		case "tls":
			if v != "true" && v != "false" {
				return fmt.Errorf("etcd address: tls has to be true or false, but is %q", v)
			}
		case "ca_file", "cert_file", "key_file":
		default:
			return fmt.Errorf("etcd address: unknown setting %q; there are tls, ca_file, cert_file and key_file", name)
		}
	}
	return a.secure(q)
}

// secure has the connections use TLS, trusting the system's roots or those in ca_file.
func (a *address) secure(q url.Values) error {
	ca, cert, key := q.Get("ca_file"), q.Get("cert_file"), q.Get("key_file")
	on := q.Get("tls") == "true"
	switch {
	case !on && (ca != "" || cert != "" || key != ""):
		return errors.New("etcd address: ca_file, cert_file and key_file need tls=true")
	case !on:
		return nil
	case (cert == "") != (key == ""):
		return errors.New("etcd address: cert_file and key_file belong together")
	}
	a.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return fmt.Errorf("etcd address: ca_file: %w", err)
		}
		a.tls.RootCAs = x509.NewCertPool()
		if !a.tls.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("etcd address: ca_file: no certificate in %s", ca)
		}
	}
	if cert == "" {
		return nil
	}
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		return fmt.Errorf("etcd address: cert_file and key_file: %w", err)
	}
	a.tls.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { // it may have been renewed
		c, err := tls.LoadX509KeyPair(cert, key)
		return &c, err
	}
	return nil
}

// atOnce has a request that no member can be reached for say so, and why. By default the
// library has it wait to the end of its time.
func atOnce(ctx context.Context, method string, req, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(ctx, method, req, reply, c, append(opts, grpc.WaitForReady(false))...)
}

// open makes a client that lives as long as life. It reaches for etcd only if there is a
// password.
func (a address) open(life context.Context) (*clientv3.Client, error) {
	scheme := "http://"
	if a.tls != nil {
		scheme = "https://"
	}
	cfg := clientv3.Config{
		Username: a.user, Password: a.password, TLS: a.tls, Context: life, Logger: zap.NewNop(),
		MaxUnaryRetries: attempts, DialTimeout: loginTimeout, DialKeepAliveTime: pingEvery, DialKeepAliveTimeout: pingTimeout,
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(atOnce), grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMost},
			MinConnectTimeout: loginTimeout,
		})},
	}
	for _, m := range a.members {
		cfg.Endpoints = append(cfg.Endpoints, scheme+m)
	}
	return clientv3.New(cfg)
}
