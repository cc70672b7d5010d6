package zookeeper

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
)

// answers of ZooKeeper that say how something is; they are told as they come.
var plain = []error{zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty}

func isPlain(err error) bool {
	return slices.ContainsFunc(plain, func(p error) bool { return errors.Is(err, p) })
}

// Codes for which the library has no name: it tells them so.
var (
	errLocal     = errors.New("unknown error: -120")
	errQuota     = errors.New("unknown error: -125")
	errThrottled = errors.New("unknown error: -127")
)

// refusals are why ZooKeeper has not done what it was asked to do, for certain.
var refusals = []struct {
	err error
	why string
}{
	{zk.ErrNoServer, "no member of ZooKeeper could be reached"},
	{zk.ErrNoAuth, "ZooKeeper: permission denied: what is there is for another user or password, or the rights create, read, write and delete are not given below the chroot (see docs/zookeeper.md)"},
	{zk.ErrAuthFailed, "ZooKeeper refuses the user in backend.url"},
	{zk.ErrInvalidACL, "ZooKeeper does not know who the gateway is, so that znodes cannot be made for it alone"},
	{zk.ErrSessionMoved, "the session has moved to another member of ZooKeeper"},
	{errLocal, local},
	{errQuota, "a quota of ZooKeeper for the chroot, or for what is above it, is used up: raise it (zkCli.sh listquota, setquota)"},
	{errThrottled, "ZooKeeper is too busy, and has not carried out the request"},
	{zk.ErrNoChildrenForEphemerals, "the chroot is a znode of somebody's session, under which nothing can be kept"},
}

// local is why nothing can be kept under the session.
const local = "ZooKeeper keeps nothing under the session that has just begun; where localSessionsEnabled is set, set localSessionsUpgradingEnabled=true, too, on each member"

// isExpired: ZooKeeper does not know the session any more, or only one member has ever known it.
func isExpired(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), strings.TrimPrefix(zk.ErrSessionExpired.Error(), "zk: "))
}

// outcome is err as a Table tells it, unless it is one of plain: ErrRefused if nothing was
// changed for certain, or ErrUnavailable.
func outcome(err error) error {
	if err == nil || isPlain(err) {
		return err
	}
	for _, r := range refusals {
		if errors.Is(err, r.err) || err.Error() == r.err.Error() {
			return backend.NotSent(r.why)
		}
	}
	return fmt.Errorf("%w: %s", backend.ErrUnavailable, "zookeeper: "+strings.TrimPrefix(err.Error(), "zk: "))
}

// errForeign is an ErrRefused: what stands in a znode is none of lockgw's.
var errForeign = fmt.Errorf("%w", backend.ErrRefused)

func isGone(err error) bool { return errors.Is(err, zk.ErrNoNode) }
