package check

import (
	"flag"
	"strings"
	"sync"
	"testing"
)

// note says what a block needs, or why it is not run.
type note struct {
	skip      string // why it is not run
	before    string // shell commands that the text before the block asks for
	prints    string // has to be in its output
	interrupt bool   // it goes on until Ctrl-C, which it gets once it has printed that
	times     bool   // when something was, and for how long, differs from the page
	needs     string // shell command that succeeds where what it needs is installed
}

// withRedis are the pages whose gateway is over a Redis.
var withRedis = map[string]bool{
	"docs/howto/from-redisson.md": true,
	"docs/redis-layout.md":        true,
}

// whileHeld is before a block that looks at what somebody holds: a command, which the
// gateway is told of once it has been started.
const whileHeld = "lockgw run nightly -- sleep 60 & until lockgw status nightly | grep -q 'Process: *pid [0-9]* (sleep)'; do sleep 0.1; done\n"

// written is that of Redis: the command is in the record, too, which is written once more for it.
const written = whileHeld + "until redis-cli --raw GET 'lockgw:{nightly}' | grep -q '\"last\"'; do sleep 0.1; done\n"

// night is before the block that looks back at one: a report that waits for a backup, and
// a check that does not. The backup goes on until both have asked, however slow the machine is.
const night = "for job in backup report check; do printf '#!/bin/sh\nuntil [ -e morning ]; do sleep 0.1; done\nsleep 1\n' >$job.sh; chmod +x $job.sh; done\n" +
	"lockgw run nightly -- ./backup.sh & while [ -z \"$(lockgw ls -o name)\" ]; do sleep 0.1; done\n" +
	"lockgw run nightly -q -- ./report.sh & while ! lockgw status nightly | grep -q 'Waiters: *1'; do sleep 0.1; done\n" +
	"! lockgw run nightly -n -q -- ./check.sh\ntouch morning\nwait\n"

// notes are for the block of a page that begins so.
var notes = map[string]map[string]note{
	"README.md": {
		"curl -N":                  {prints: "event: acquired", interrupt: true},
		"$ lockgw status nightly":  {before: whileHeld},
		"T=$(curl":                 {prints: `"released":true`},
		"lockgw run nightly -- ./": {skip: "what it is about; the next one that locks is run"},
		"curl -fsS":                {prints: `"state":"held"`},
		"printf":                   {prints: "\r\n:0\r\n+OK"},
		"redis-server ":            {prints: "b: fence"},
	},
	"docs/zookeeper.md": {
		"zkCli.sh -server zk-a create": {skip: "needs zkCli.sh; backend/zookeeper tests a user with these rights"},
		"$ zkCli.sh -server":           {skip: "needs zkCli.sh; backend/zookeeper tests how a record is written"},
	},
	"docs/etcd.md": {
		"etcdctl role add": {skip: "needs etcdctl; backend/etcd tests a user with these rights"},
		"$ etcdctl get":    {skip: "needs etcdctl; backend/etcd tests how a record is written"},
	},
	"docs/history.md": {
		"$ lockgw history nightly": {before: night, times: true},
		"jq ":                      {needs: "command -v jq"},
	},
	"docs/howto/cron.md": {
		"$ lockgw run nightly -n -E 0 -- ": {before: whileHeld},
	},
	"docs/howto/from-flock.md": {
		"$ lockgw run nightly -n -E 1": {before: whileHeld},
	},
	"docs/howto/node.md": {
		"import { createClient": {needs: "node --input-type=module -e 'import \"redis\"'"},
		"import Redis":          {needs: "node --input-type=module -e 'import \"ioredis\"'"},
	},
	"docs/howto/php.md": {
		"<?php\n$context": {prints: "200 OK\n{\"name\":\"nightly\",\"released\":true"},
	},
	"docs/howto/python.md": {
		"import sys\nimport redis":    {needs: "python3 -c 'import redis'"},
		"import redis":                {needs: "python3 -c 'import redis'"},
		"import sys\nimport requests": {needs: "python3 -c 'import requests'"},
	},
	"docs/howto/service.md": {
		"T=$(lockgw session": {prints: "event: lost", interrupt: true},
	},
	"docs/redis-layout.md": {
		"$ redis-cli HGETALL":   {before: written},
		"$ redis-cli SUBSCRIBE": {skip: "goes on until Ctrl-C, and shows nothing until then"},
	},
	"docs/redlock.md": {
		"$ for host": {skip: "needs three servers with names; backend/redlock tests what is in them"},
	},
	"docs/security.md": {
		"printf 'ci":          {skip: "needs a gateway with certificates"},
		"$ curl -sS --cacert": {skip: "needs a gateway with certificates"},
	},
	"docs/web.md": {
		"lockgw top": {skip: "needs a terminal; cmd/lockgw tests top and watch"},
	},
}

// usage is which notes a block was found for.
type usage struct {
	sync.Mutex // guards seen
	seen       map[string]bool
}

// find is the note of the block, an empty one if there is none; of several the
// longest beginning counts.
func (u *usage) find(page string, b block) (found note) {
	longest := ""
	for begin, n := range notes[page] {
		if strings.HasPrefix(b.code, begin) && len(begin) > len(longest) {
			longest, found = begin, n
		}
	}
	u.Lock()
	defer u.Unlock()
	if u.seen == nil {
		u.seen = map[string]bool{}
	}
	u.seen[page+": "+longest] = true
	return found
}

// checkAll: a note that nothing begins with is of a block that was changed.
func (u *usage) checkAll(t *testing.T) {
	t.Helper()
	for page, ns := range notes {
		for begin := range ns {
			if !u.seen[page+": "+begin] {
				t.Errorf("%s has no block that begins with %q: mend its note", page, begin)
			}
		}
	}
}

// filtered: with -run of one page the others' notes are not used.
func filtered() bool {
	f := flag.Lookup("test.run")
	return f != nil && strings.Contains(f.Value.String(), "/")
}
