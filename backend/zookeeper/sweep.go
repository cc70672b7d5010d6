package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/quorum"
)

const (
	// sweepTogether is how many records of one parent are deleted at once.
	sweepTogether = 100
	// pulseAfter is when a node is taken for one that will not come back.
	pulseAfter = 24 * time.Hour
)

// due are the records of which nobody has heard for long enough, by their parents.
func (t *Table) due(after time.Duration) map[string]map[string]place {
	some := map[string]map[string]place{}
	t.unused.Due(after, func(name string, at place) bool {
		b := t.paths.bucket(name)
		if some[b] == nil {
			some[b] = map[string]place{}
		}
		if len(some[b]) == sweepTogether {
			return false
		}
		some[b][name] = at
		return true
	})
	return some
}

// sweep deletes records that nobody uses.
func (t *Table) sweep(ctx context.Context) error {
	s, err := t.listening.Wait(ctx)
	if err != nil {
		return err
	}
	return s.deleteAll(ctx, t.due(quorum.SweepAfter)) // they stay until somebody uses them again, or a scan finds them
}

func (s *session) deleteAll(ctx context.Context, some map[string]map[string]place) error {
	var errs []error
	for _, names := range some {
		errs = append(errs, s.delete(ctx, names))
	}
	return errors.Join(errs...)
}

// delete deletes records of one parent that are where they were left. No fence of one that is
// made later is below theirs, and no write that compares with what was there before passes: the
// parent is written in the same step.
func (s *session) delete(ctx context.Context, names map[string]place) error {
	for range quorum.Tries {
		var (
			in   bucket
			path string
			ops  []any
		)
		for name, at := range names {
			is, err := s.read(ctx, name)
			if err != nil {
				return settled(err)
			}
			if over, err := s.over(ctx, name, &is); err != nil {
				return err
			} else if is.place != at || !over {
				continue // somebody uses it again
			}
			if path != "" && is.in.version != in.version {
				return backend.NotSent("others delete records just now")
			}
			top := max(in.top, is.in.top, is.Record.Top)
			in, path = is.in, s.t.paths.bucket(name)
			in.top = top
			ops = append(ops, &zk.DeleteRequest{Path: s.t.paths.record(name), Version: at.version})
		}
		if len(ops) == 0 {
			return nil
		}
		ops = append([]any{&zk.SetDataRequest{Path: path, Data: fmt.Append(nil, uint64(in.top)), Version: in.version}}, ops...)
		_, failed, err := s.multi(ctx, ops)
		s.buckets.forget(path)
		if err == nil || failed < 0 {
			return err
		}
	}
	return backend.NotSent("others write the records that are to be deleted")
}

// scan looks through all records for those that nobody uses, or of which all who do are dead.
func (t *Table) scan(ctx context.Context) error {
	s, err := t.listening.Wait(ctx)
	if err != nil {
		return err
	}
	_, err = s.each(ctx, func(name string, is *row) error {
		over, err := s.over(ctx, name, is)
		if over {
			t.unused.Found(name, is.place)
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.scanPulses(ctx)
}

// each has f look at the records of all names, and tells under which parents they were.
func (s *session) each(ctx context.Context, f func(name string, is *row) error) (buckets []string, err error) {
	buckets, err = s.children(ctx, s.t.paths.records())
	if err != nil {
		return nil, settled(err)
	}
	for _, b := range buckets {
		children, err := s.children(ctx, s.t.paths.records()+"/"+b)
		if err != nil {
			return nil, settled(err)
		}
		for _, c := range children {
			name, ok := s.t.paths.name(c)
			if !ok {
				continue // it is not lockgw's, or has another prefix
			}
			is, err := s.read(ctx, name)
			if errors.Is(err, errForeign) || err == nil && is.place.born == 0 {
				continue // nor is that, or it was deleted meanwhile
			}
			if err == nil {
				err = f(name, &is)
			}
			if err != nil {
				return nil, settled(err)
			}
		}
	}
	return buckets, nil
}

// Newest implements floor.Keeper.
func (t *Table) Newest(ctx context.Context) (newest backend.Fence, err error) {
	s, err := t.listening.Wait(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.sync(ctx, t.paths.root); err != nil {
		return 0, settled(err)
	}
	buckets, err := s.each(ctx, func(_ string, is *row) error {
		newest = max(newest, is.Record.Top)
		return nil
	})
	for _, b := range buckets { // last: they have the records that were deleted meanwhile
		in, _, err := s.parent(ctx, t.paths.records()+"/"+b)
		if err != nil && !errors.Is(err, errForeign) {
			return 0, settled(err)
		}
		newest = max(newest, in.top)
	}
	return newest, err
}

// over: nobody uses the name.
func (s *session) over(ctx context.Context, name string, is *row) (bool, error) {
	return is.Over(func(e quorum.End) (time.Duration, error) { return s.t.remains.left(ctx, s, name, e) }, func(node string) (bool, error) {
		_, _, err := s.get(ctx, s.t.paths.mail(node))
		if isGone(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// scanPulses deletes those of nodes that have been gone for long.
func (s *session) scanPulses(ctx context.Context) error {
	nodes, err := s.children(ctx, s.t.paths.root+"/p")
	if err != nil {
		return settled(err)
	}
	for _, n := range nodes {
		path := s.t.paths.root + "/p/" + n
		_, st, err := s.get(ctx, path)
		if err != nil || time.Duration(quorum.Clock()-st.Mtime*1000)*time.Microsecond < pulseAfter {
			continue
		}
		err = s.remove(ctx, path, st.Version)
		if errors.Is(err, backend.ErrUnavailable) {
			return err
		}
	}
	return nil
}
