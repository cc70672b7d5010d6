package zookeeper

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/quorum"
)

// bucket is a parent of records, as it was when it was read. Whoever deletes a record below it
// writes it in the same step. So a write that compares its version knows that nothing was
// deleted since, and with that, that a znode of a certain version is the same znode.
type bucket struct {
	version int32
	// top: no fence of a record that was deleted below it is above.
	top backend.Fence
}

// buckets are what is known of them in one session. The next one may meet a store that was
// restored from an older copy, in which other znodes have the same versions.
type buckets struct {
	of sync.Map // bucket by path

	mu sync.Mutex // guards the field below
	// seen is under which version of its bucket a znode was seen.
	seen map[string]sighting
}

type sighting struct {
	born    int64
	version int32 // of the bucket
}

// mostSeen bounds how many names are remembered. What is forgotten is read again.
const mostSeen = 10_000

func (b *buckets) forget(path string) { b.of.Delete(path) }

// saw: the znode of name was that of born while its bucket had the version.
func (b *buckets) saw(name string, born int64, version int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	quorum.Put(&b.seen, mostSeen, name, sighting{born, version})
}

func (b *buckets) know(name string, born int64, version int32) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen[name] == sighting{born, version}
}

// bucket reads that of name, unless it is known. It is made if it is not there.
func (s *session) bucket(ctx context.Context, name string) (bucket, error) {
	is, ok, err := s.peek(ctx, name)
	if err == nil && !ok {
		if err = s.create(ctx, s.t.paths.bucket(name), "0"); err == nil {
			is, _, err = s.peek(ctx, name)
		}
		if isGone(err) { // somebody has deleted what all are below, and the next session makes it
			s.t.listening.Lost(s)
		}
	}
	return is, quorum.Unasked(settled(err))
}

// peek is bucket, but makes none. false: there is none, nor a record below it.
func (s *session) peek(ctx context.Context, name string) (is bucket, ok bool, err error) {
	path := s.t.paths.bucket(name)
	if is, ok := s.buckets.of.Load(path); ok {
		return is.(bucket), true, nil
	}
	if is, ok, err = s.parent(ctx, path); err == nil && ok {
		s.buckets.of.Store(path, is)
	}
	return is, ok, err
}

// parent reads the bucket at path. false: there is none.
func (s *session) parent(ctx context.Context, path string) (is bucket, ok bool, err error) {
	value, st, err := s.get(ctx, path)
	if isGone(err) {
		return bucket{}, false, nil
	}
	if err != nil {
		return bucket{}, false, err
	}
	top, err := strconv.ParseUint(string(value), 10, 63)
	if err != nil {
		return bucket{}, false, fmt.Errorf("%w: the znode %s of ZooKeeper has to have a number above all fences of what is below it: write that of `date +%%s%%6N` there", errForeign, path)
	}
	return bucket{st.Version, backend.Fence(top)}, true, nil
}
