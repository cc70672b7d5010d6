package stores

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// disk is a store on a small one.
type disk struct {
	url    string
	dirs   []string // that have no room
	room   int64    // that is left there at first
	says   string   // to who asks for a lock, in /readyz and in doctor, while the disk is full
	partly bool     // some names are locked, in pages that the database has
	renews bool     // what is held, meanwhile
	ends   bool     // the server, by itself
	full   func()   // is called when there is no room; nil: nothing
	free   func()   // when there is some again; nil: nothing
}

// small is for the StartWith of a store.
func small(t *testing.T, size string) func(dir string) {
	return func(dir string) { servertest.SmallDisk(t, dir, size) }
}

const (
	gone = "connection refused"
	some = 64 << 10
)

var disks = map[string]func(t *testing.T) disk{
	"postgres": func(t *testing.T) disk {
		s := pgtest.StartWith(t, small(t, "96m"), "max_wal_size=4MB", "min_wal_size=2MB")
		return disk{url: s.URL(), dirs: []string{s.Dir()}, room: some, says: "the disk of PostgreSQL is full", renews: true}
	},
	"mysql": func(t *testing.T) disk {
		s := mysqltest.StartWith(t, small(t, "256m"))
		return disk{url: s.URL(), dirs: []string{s.Dir()}, room: some, says: "the disk of the server is full", partly: true, renews: true}
	},
	"redis/append-only": func(t *testing.T) disk {
		s := redistest.StartWith(t, small(t, "8m"), "--appendonly", "yes")
		return disk{url: s.URL(), dirs: []string{s.Data}, room: some, says: "cannot save to disk"}
	},
	"redis/append-only, always": func(t *testing.T) disk {
		s := redistest.StartWith(t, small(t, "8m"), "--appendonly", "yes", "--appendfsync", "always")
		return disk{url: s.URL(), dirs: []string{s.Data}, room: some, says: gone, ends: true, free: s.Restart}
	},
	"redis/snapshots": func(t *testing.T) disk {
		s := redistest.StartWith(t, small(t, "8m"), "--save", "3600 1")
		save := func() {
			if err := s.Client().BgSave(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		return disk{url: s.URL(), dirs: []string{s.Data}, says: "cannot save to disk", full: save, free: save}
	},
	"redlock": func(t *testing.T) disk { // a majority
		var hosts, dirs []string
		for range 3 {
			s := redistest.StartWith(t, small(t, "8m"), "--appendonly", "yes")
			hosts, dirs = append(hosts, s.Addr), append(dirs, s.Data)
		}
		return disk{url: "redlock://" + strings.Join(hosts, ","), dirs: dirs[1:], room: some, says: "cannot save to disk"}
	},
	"etcd": func(t *testing.T) disk {
		s := etcdtest.StartWith(t, small(t, "160m"))
		return disk{url: etcdtest.URL(s), dirs: []string{s.Data}, room: some, says: gone, ends: true, free: s.Restart}
	},
	"zookeeper": func(t *testing.T) disk {
		s := zktest.StartWith(t, small(t, "96m"))
		return disk{url: "zookeeper://" + s.Addr + "?tick=200ms", dirs: []string{s.Data}, room: some, says: gone, ends: true, free: s.Restart}
	},
}

// While the disk of the store is full, no new lock is granted. Everybody is told why, what is
// held is renewed or told lost at its deadline, and nobody has it before; when there is room
// again, the gateways go on as they are.
func TestDiskIsFull(t *testing.T) {
	for name, start := range disks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			diskIsFull(t, start(t))
		})
	}
}

func diskIsFull(t *testing.T, d disk) {
	t.Helper()
	const ttl = 5 * time.Second
	a, b := start(t, "a", d.url, ttl), start(t, "b", d.url, ttl)
	holder := a.dial(t, "")
	before := holder.lock(t, "before", 0)
	next := make(chan client.Hold, 1)
	waiter := b.dial(t, "")
	go func() {
		h, err := waiter.Lock(t.Context(), "before", client.LockOptions{Wait: 2 * e2e.Patience})
		if err != nil && t.Context().Err() == nil {
			t.Errorf("who waits meanwhile: %v", err)
		}
		next <- h
	}()
	var free []func()
	for _, dir := range d.dirs {
		free = append(free, servertest.Fill(t, dir, d.room))
	}
	if d.full != nil {
		d.full()
	}
	takers := map[*caller][]string{}
	for _, g := range []*gateway{a, b} {
		c, granted := g.takesAll(t, d)
		takers[c] = granted
	}
	status := http.StatusServiceUnavailable
	if d.partly { // or nothing is
		status = 0
	}
	a.until(t, status, d.says)
	if code, out := a.doctor(t); code == 0 && !d.partly || !strings.Contains(out, d.says) {
		t.Errorf("doctor: exit code %d\n%s\nwant %q", code, out, d.says)
	}
	if d.renews {
		e2e.Until(func() bool { return session.Boottime() > before.Deadline })
	} else if e2e.Until(func() bool { return holder.told("before") }); !holder.told("before") {
		t.Error("who holds is not told that it is lost")
	}
	left, err := holder.Renew(t.Context(), "before", 0, 0)
	if d.renews && (err != nil || left <= 0) || !d.renews && !errors.Is(err, client.ErrLost) {
		t.Errorf("who holds is told %v, %v; renewed: %v", left, err, d.renews)
	}
	for _, free := range free {
		free()
	}
	if d.free != nil {
		d.free()
	}
	a.until(t, http.StatusOK, "")
	b.until(t, http.StatusOK, "")
	b.comesIn(t, "after")
	for taker, granted := range takers {
		for _, name := range granted {
			_, err := b.dial(t, "").Lock(t.Context(), name, client.LockOptions{})
			if lost := taker.told(name); err == nil && !lost || lost && d.renews {
				t.Errorf("%s is held, and granted again: %v; told lost: %v", name, err == nil, lost)
			}
		}
	}
	if d.renews {
		select {
		case h := <-next:
			t.Fatalf("what was held and renewed was granted to another: %+v", h)
		default:
		}
		if _, err := holder.Unlock(t.Context(), "before", client.UnlockOptions{}); err != nil {
			t.Error(err)
		}
	}
	if h := <-next; h.Fence <= before.Fence || !d.renews && session.Boottime() < before.Deadline {
		t.Errorf("who has waited gets fence %d, after %d", h.Fence, before.Fence)
	}
}

// takesAll takes names until none can be had, for in the pages of a database there may be room for
// a few: those that it has got, some of which may be lost to it later. A server that ends by itself
// takes its time, in which requests are lost or not sent.
func (g *gateway) takesAll(t *testing.T, d disk) (c *caller, granted []string) {
	t.Helper()
	c = g.dial(t, "")
	var err error
	refused := 0
	says := func() bool { return err != nil && strings.Contains(err.Error(), d.says) }
	for i, began := 0, time.Now(); i < 1000 && (refused < 20 || d.ends && time.Since(began) < e2e.Patience); i++ {
		name := fmt.Sprintf("%s-%d-%s", g.Name, i, strings.Repeat("x", 200))
		if _, err = c.Lock(t.Context(), name, client.LockOptions{}); err == nil {
			granted = append(granted, name)
			refused = 0
			continue
		}
		if refused++; d.ends {
			if says() { // there is nobody to refuse the others
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	if !errors.Is(err, client.ErrUnavailable) || !says() {
		t.Errorf("after %d locks, a new one: %v, want %v with %q", len(granted), err, client.ErrUnavailable, d.says)
	}
	return c, granted
}
