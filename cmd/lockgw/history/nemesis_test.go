package history_test

import (
	"math/rand/v2"
	"strings"
	"syscall"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

// fault is something that can go wrong. do returns when it is over; node is "" if
// it concerns all, and nothing was done if it returns false.
type fault struct {
	kind string
	do   func(n *nemesis) (node string, done bool)
}

// nemesis does one fault after the other, each as often as the others, in the
// order that its seed says.
type nemesis struct {
	*rig
	rng   *rand.Rand
	until time.Time
}

func (n *nemesis) run() {
	for time.Now().Before(n.until) {
		for _, i := range n.rng.Perm(len(n.s.faults)) {
			if !time.Now().Before(n.until) {
				return
			}
			from := now()
			f := n.s.faults[i]
			if node, done := f.do(n); done {
				n.rec.fault(f.kind, node, from)
			}
			time.Sleep(n.between(50, 400))
		}
	}
}

func (n *nemesis) between(least, most int) time.Duration {
	return time.Duration(least+n.rng.IntN(most-least+1)) * time.Millisecond
}

// messageFaults leave all requests alone.
var messageFaults = []fault{
	{"cut messages", cutMessages},
	{"mute messages", onLane(messages, trouble{mode: blackHole, chance: 1}, 500, 4000)},
	{"freeze messages", freezeMessages},
	{"delay messages", onLane(messages, trouble{mode: delayReplies, chance: 1, least: 100 * time.Millisecond, most: time.Second}, 500, 2000)},
}

// briefFaults take no holder its lease.
var briefFaults = append([]fault{
	{"cut on reply", onLane(commands, trouble{mode: cutOnReply, chance: 0.1}, 500, 2500)},
	{"drop replies", onLane(commands, trouble{mode: dropReplies, chance: 0.1}, 500, 2000)},
	{"drop all replies", onLane(commands, trouble{mode: dropReplies, chance: 1}, 500, 3000)},
	{"cut on all replies", onLane(commands, trouble{mode: cutOnReply, chance: 1}, 500, 3000)},
	{"reset", onLane(commands, trouble{mode: reset, chance: 0.1}, 500, 2000)},
	{"late requests", onLane(commands, trouble{mode: late, chance: 0.1, least: time.Second, most: 5 * time.Second}, 500, 2000)},
	{"delay replies", onLane(commands, trouble{mode: delayReplies, chance: 0.5, least: 50 * time.Millisecond, most: 450 * time.Millisecond}, 500, 2000)},
	{"black hole", onLane(commands, trouble{mode: blackHole, chance: 1}, 300, 2000)},
	{"upset store", upsetStore},
	{"slow store", slowStore},
	{"pause store", pauseStore(100, 1000)},
	{"restart store", restartStore},
	{history.PauseGateway, pauseGateway(100, 800)},
}, messageFaults...)

var anyFault = append([]fault{
	{"kill gateway", killGateway},
	{"power cut", cutPower},
	{history.PauseGateway, pauseGateway(1000, 4500)},
	{"pause store", pauseStore(500, 4000)},
	{"long black hole", onLane(commands, trouble{mode: blackHole, chance: 1}, 2000, 5000)},
	{"all late", onLane(commands, trouble{mode: late, chance: 0.5, least: time.Second, most: 5 * time.Second}, 1000, 4000)},
}, briefFaults...)

// pick has f work on a gateway that no other fault is at.
func (n *nemesis) pick(f func(g *gateway)) (string, bool) {
	i := n.rng.IntN(nodes)
	if !n.busy[i].TryLock() {
		return "", false
	}
	defer n.busy[i].Unlock()
	f(n.gateways[i])
	return n.gateways[i].Name, true
}

// onStore has f work unless another fault is at the store.
func (n *nemesis) onStore(f func()) (string, bool) {
	if !n.atStore.TryLock() {
		return "", false
	}
	defer n.atStore.Unlock()
	f()
	return "", true
}

func onLane(l lane, t trouble, least, most int) func(*nemesis) (string, bool) {
	return func(n *nemesis) (string, bool) {
		return n.pick(func(g *gateway) {
			g.proxy.set(l, t)
			time.Sleep(n.between(least, most))
			g.proxy.set(l, trouble{})
		})
	}
}

// serverAway cuts one gateway off from one server of its store.
func serverAway(n *nemesis) (string, bool) {
	return n.pick(func(g *gateway) {
		p := g.proxy[n.rng.IntN(len(g.proxy))]
		p.set(commands, trouble{mode: blackHole})
		p.set(messages, trouble{mode: blackHole})
		time.Sleep(n.between(500, 3000))
		p.set(commands, trouble{})
		p.set(messages, trouble{})
	})
}

// oneOfServers has what befalls the store befall one of its servers, which explains no stall.
func oneOfServers(all []fault) (out []fault) {
	for _, f := range all {
		if one, ok := strings.CutSuffix(f.kind, " store"); ok && f.kind != "upset store" {
			f.kind = one + " server"
		}
		out = append(out, f)
	}
	return out
}

func freezeMessages(n *nemesis) (string, bool) {
	return n.pick(func(g *gateway) { g.proxy.freeze(messages) })
}

func killGateway(n *nemesis) (string, bool) {
	return n.pick(func(g *gateway) {
		g.Kill()
		time.Sleep(n.between(0, 1000))
		if err := g.Start(); err != nil {
			n.t.Error(err)
		}
	})
}

// cutPower kills a gateway without a word to the store, which goes on to believe that
// it listens.
func cutPower(n *nemesis) (string, bool) {
	return n.pick(func(g *gateway) {
		g.proxy.freeze(messages)
		g.proxy.freeze(commands)
		g.Kill()
		time.Sleep(n.between(0, 1000))
		if err := g.Start(); err != nil {
			n.t.Error(err)
		}
	})
}

func pauseGateway(least, most int) func(*nemesis) (string, bool) {
	return func(n *nemesis) (string, bool) {
		return n.pick(func(g *gateway) {
			g.Signal(syscall.SIGSTOP)
			time.Sleep(n.between(least, most))
			g.Signal(syscall.SIGCONT)
		})
	}
}

func pauseStore(least, most int) func(*nemesis) (string, bool) {
	return func(n *nemesis) (string, bool) {
		return n.onStore(func() {
			n.store.Pause()
			time.Sleep(n.between(least, most))
			n.store.Resume()
		})
	}
}

func cutMessages(n *nemesis) (string, bool) {
	return n.onStore(func() {
		for range 1 + n.rng.IntN(5) {
			n.store.cut()
			time.Sleep(n.between(20, 200))
		}
	})
}

func upsetStore(n *nemesis) (string, bool) {
	return n.onStore(func() {
		for range 5 {
			n.store.upset()
			time.Sleep(n.between(20, 100))
		}
	})
}

func slowStore(n *nemesis) (string, bool) {
	return n.onStore(func() {
		for range 3 {
			n.store.slow(n.between(50, 400))
			time.Sleep(n.between(50, 200))
		}
	})
}

// restartStore is a crash after which the store has all that it has promised to keep.
func restartStore(n *nemesis) (string, bool) {
	keeps := false
	_, done := n.onStore(func() { keeps = n.store.restart() })
	return "", done && keeps
}

// emptyStore is a restart that forgets everything.
func emptyStore(n *nemesis) (string, bool) {
	return n.onStore(func() {
		n.store.forget()
		time.Sleep(n.between(500, 1500))
	})
}
