package zookeeper

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// place is where a row stands. The version of a znode begins anew when it was deleted and
// made again, so only both together are never used twice.
type place struct {
	born    int64 // the zxid by which the znode was made; 0: there is none
	version int32
}

func placeOf(st *zk.Stat) place { return place{st.Czxid, st.Version} }

// String is the place in the version of a row.
func (p place) String() string {
	if p.born == 0 {
		return ""
	}
	return fmt.Sprintf("%x.%d", uint64(p.born), p.version)
}

// row is what is in the znode of a name. Its holds are under sessions.
type row struct {
	quorum.Row
	place place
	in    bucket // as it was before the row was read
}

func (r *row) version() ledger.Version { return r.Version(r.place.String()) }

// parseVersion reads what version made.
func parseVersion(v ledger.Version) (place, quorum.Ends, error) {
	text, es, err := quorum.ParseVersion(v)
	if err != nil || text == "" {
		return place{}, nil, err
	}
	born, version, ok := strings.Cut(text, ".")
	zxid, err := strconv.ParseUint(born, 16, 64)
	n, err2 := strconv.ParseInt(version, 10, 32)
	if err != nil || err2 != nil || !ok || zxid == 0 {
		return place{}, nil, quorum.NoVersion(v)
	}
	return place{int64(zxid), int32(n)}, es, nil
}
