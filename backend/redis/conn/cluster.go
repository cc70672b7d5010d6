package conn

import (
	"errors"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Cluster is the address of a cluster.
type Cluster struct {
	nodes []string // some of them; the others are found by asking these
	opt   *goredis.Options
}

// ClusterAddress reads the address of a cluster:
//
//	redis+cluster://[user:password@]host[:6379],host,...
//	rediss+cluster://...
//
// The query may hold what options takes, but no database.
func ClusterAddress(rawurl string) (*Cluster, error) {
	s, err := readSeveral(rawurl, "6379")
	if err != nil {
		return nil, err
	}
	opt, err := s.options(s.path)
	if err != nil {
		return nil, err
	}
	if opt.DB != 0 {
		return nil, errors.New("redis address: a cluster has no databases but 0; leave the number out")
	}
	return &Cluster{s.hosts, opt}, nil
}

const (
	maxRedirects = 3
	minRetry     = 10 * time.Millisecond
	maxRetry     = 50 * time.Millisecond
)

// New makes a client of all servers of the cluster.
func (a *Cluster) New() *goredis.ClusterClient {
	return goredis.NewClusterClient(&goredis.ClusterOptions{
		Addrs: a.nodes,
		NewClient: func(node *goredis.Options) *goredis.Client {
			own := *a.opt
			own.Addr = node.Addr
			return New(&own)
		},
		MaxRedirects: maxRedirects, MinRetryBackoff: minRetry, MaxRetryBackoff: maxRetry,
		ContextTimeoutEnabled:  true,
		DisableRoutingPolicies: true, // they cost a question to the cluster about all of its commands
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	})
}

// Clustered says that rawurl is the address of a cluster.
func Clustered(rawurl string) bool {
	scheme, _, _ := strings.Cut(rawurl, "://")
	return strings.HasSuffix(scheme, "+cluster")
}
