package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
)

// write is one multi: what has to be so, and what is written then. If something is not so,
// nothing is written.
type write struct {
	s    *session
	name string
	base place // somebody else has written the row if it is not there
	in   bucket
	row  row
	// dead are the sessions of which the znode must be gone.
	dead []string
	// own: the node's own hold is under its session, which must not have ended.
	own bool
	// grants: its node holds what it did not hold before; birth and pulse are the versions
	// that the znodes must have then.
	grants       bool
	birth, pulse int32
	mail         []letter

	ops   []any
	parts []part
	put   int // the op that writes the row
	bytes int // of all ops, about
}

// part says what an op is there for.
type part struct {
	what what
	whom string // session, or node
}

type what int

const (
	moved   what = iota // the row, or its bucket, is another one
	living              // the session has not ended
	ended               // the node's own session has
	trusted             // the store has gone back, or may have
	deaf                // the node does not listen
)

// mostBytes is how much goes into one request: ZooKeeper closes the connection over more than
// 1 MiB (jute.maxbuffer), as if it had vanished. mostRow is for the row alone, of which
// messages have copies.
const (
	mostBytes = 1_000_000
	mostRow   = 900_000
	opBytes   = 64 // beside value and path
	// large is what a write is above that servers which take less in a request may have cut off.
	large = 8 << 10
)

// skipped is a version at which a znode does not stay: at -1 there would be no comparison, for that
// means any.
var skipped int32 = -1

// next is the version of the znode once w is written.
func (w *write) next() int32 {
	if next := w.base.version + 1; next != skipped {
		return next
	}
	return skipped + 1
}

func (w *write) op(what what, whom string, ops ...any) {
	for _, o := range ops {
		w.ops = append(w.ops, o)
		w.parts = append(w.parts, part{what, whom})
	}
}

// build makes the ops.
func (w *write) build() error {
	text := []byte(w.row.Text())
	if len(text) > mostRow {
		return backend.NotSent(fmt.Sprintf("the record of %s has %d bytes, and ZooKeeper takes no more than 1 MiB in a request", w.name, len(text)))
	}
	t, p := w.s.t, w.s.t.paths
	bucket, path := p.bucket(w.name), p.record(w.name)
	w.ops, w.parts = nil, nil
	set := &zk.SetDataRequest{Path: path, Data: text, Version: w.base.version}
	w.op(moved, "", &zk.CheckVersionRequest{Path: bucket, Version: w.in.version})
	switch {
	case w.base.born == 0: // a create does not tell when the znode was made, and the write after it does
		w.op(moved, "", &zk.CreateRequest{Path: path, Acl: t.acl})
	case w.base.version+1 == skipped:
		w.op(moved, "", &zk.SetDataRequest{Path: path, Version: w.base.version})
		set.Version = skipped
	}
	w.op(moved, "", set)
	w.put = len(w.ops) - 1
	for _, id := range w.dead { // no znode is made where there is one
		w.op(living, id, &zk.CreateRequest{Path: p.alive(id), Acl: t.acl}, &zk.DeleteRequest{Path: p.alive(id), Version: -1})
	}
	if w.own {
		w.op(ended, "", &zk.CheckVersionRequest{Path: w.s.alive(), Version: -1})
	}
	if w.grants {
		w.op(trusted, "", &zk.CheckVersionRequest{Path: p.birth(), Version: w.birth}, &zk.CheckVersionRequest{Path: p.pulse(t.Node()), Version: w.pulse})
	}
	size := len(text) + len(w.ops)*(opBytes+len(path))
	for _, l := range w.mail {
		if size+len(l.value)+opBytes+len(path) > mostBytes {
			l = l.short() // its node reads the record
		}
		size += len(l.value) + opBytes + len(path)
		w.op(deaf, l.node, &zk.SetDataRequest{Path: p.mail(l.node), Data: []byte(l.value), Version: -1})
	}
	w.bytes = size
	return nil
}

// commit carries out w. failed is what was not so; nil: nothing, it is written.
func (w *write) commit(ctx context.Context) (failed *part, err error) {
	if err := w.build(); err != nil {
		return nil, err
	}
	results, i, err := w.s.multi(ctx, w.ops)
	switch {
	case i >= 0 && isPlain(err):
		if w.parts[i].what == moved {
			w.s.buckets.forget(w.s.t.paths.bucket(w.name))
		}
		return &w.parts[i], nil
	case i < 0 && errors.Is(err, backend.ErrUnavailable):
		return nil, w.cutOff(ctx, w.resolve(ctx, err))
	case err != nil:
		return nil, settled(err)
	}
	w.written(placeOf(results[w.put].Stat))
	return nil, nil
}

// cutOff says of a large write during which the connection has ended which one it was: servers end
// it without a word over more than their jute.maxbuffer, and nothing tells what that is.
func (w *write) cutOff(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || w.bytes <= large {
		return err
	}
	w.s.t.Log.Warn("the connection with ZooKeeper has ended during a large write; if that goes on, raise jute.maxbuffer of its servers",
		"lock", w.name, "bytes", w.bytes, "err", err)
	return fmt.Errorf("%w; the request had %d bytes: see whether jute.maxbuffer of the servers is less", err, w.bytes)
}

// written notes that the row stands there now.
func (w *write) written(at place) {
	w.row.place = at
	w.s.buckets.saw(w.name, at.born, w.in.version)
	for _, l := range w.mail {
		w.s.t.posted.done(l)
	}
}

// resolve looks whether w was carried out, whose answer err was lost. If the row that is there
// is not that of w, it may still come, and nothing is known.
func (w *write) resolve(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	path := w.s.t.paths.record(w.name)
	if w.s.sync(ctx, path) != nil {
		return err
	}
	value, st, err2 := w.s.get(ctx, path)
	if err2 != nil || string(value) != w.row.Text() {
		return err
	}
	if at := placeOf(st); at.version == w.next() && (at.born == w.base.born || w.base.born == 0 && st.Czxid == st.Mzxid) {
		w.written(at)
		return nil
	}
	return err
}
