package etcd

import (
	"fmt"
	"strconv"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// row is what is at the key of a name. Its holds are under leases.
type row struct {
	quorum.Row
	rev int64 // the ModRevision of the key; 0: there is none
}

// version of a row. It begins with the revision, which no later write of this store has again.
func (r *row) version() ledger.Version {
	if r.rev == 0 {
		return ""
	}
	return r.Version(strconv.FormatInt(r.rev, 10))
}

// at is where a row stands. A store that was restored from an older copy may come to the same
// revision with something else, so that both are compared.
type at struct {
	rev  int64
	text string
}

func (r *row) at() at {
	if r.rev == 0 {
		return at{}
	}
	return at{r.rev, r.Text()}
}

// is says that nobody has written the key of a name since.
func (a at) is(key string) []clientv3.Cmp {
	same := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", a.rev)}
	if a.rev != 0 {
		same = append(same, clientv3.Compare(clientv3.Value(key), "=", a.text))
	}
	return same
}

// readRow is what a key has; kv nil: nothing.
func (t *Table) readRow(kv *mvccpb.KeyValue) (row, error) {
	if kv == nil {
		return row{}, nil
	}
	r, err := quorum.Decode(string(kv.Value))
	if err != nil {
		return row{}, fmt.Errorf("%w: the key %s of etcd: %w", backend.ErrRefused, kv.Key, err)
	}
	return row{r, kv.ModRevision}, nil
}

// under is how a lease is named in rows and keys.
func under(id clientv3.LeaseID) string { return strconv.FormatUint(uint64(id), 16) }

func only(kvs []*mvccpb.KeyValue) *mvccpb.KeyValue {
	if len(kvs) == 0 {
		return nil
	}
	return kvs[0]
}
