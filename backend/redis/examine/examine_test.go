package examine

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/servertest"
)

// examine returns what Examine finds, by check.
func examine(t *testing.T, url, prefix string) map[string]Finding {
	t.Helper()
	found := map[string]Finding{}
	for _, f := range Servers(t.Context(), redis.Config{URL: url, KeyPrefix: prefix}) {
		if other, ok := found[f.Check]; ok {
			t.Errorf("%s was told twice: %+v and %+v", f.Check, other, f)
		}
		if (f.Level == OK) != (f.Remedy == "") || f.Detail == "" {
			t.Errorf("%+v: want a detail, and how to mend it unless it is ok", f)
		}
		found[f.Check] = f
	}
	return found
}

// wantFinding fails unless found has one of the level, with text in it.
func wantFinding(t *testing.T, found map[string]Finding, check string, level Level, text string) {
	t.Helper()
	if f := found[check]; f.Level != level || !strings.Contains(f.Detail+" "+f.Remedy, text) {
		t.Errorf("%s = %+v, want %s with %q", check, f, level, text)
	}
}

func TestServers(t *testing.T) {
	s := redistest.Start(t, "--appendonly", "yes")
	found := examine(t, s.URL(), "app:")
	for _, check := range []string{"connection", "version", "role", "eviction", "persistence", "tcp-keepalive", "timeout", "maxclients", "notifications", "messages", "locks", "clock"} {
		wantFinding(t, found, check, OK, "")
	}
	if _, ok := found["latency"]; !ok || len(found) != 13 {
		t.Errorf("found = %+v, want the twelve above and latency", found)
	}
	for _, key := range s.Client().Keys(t.Context(), "*").Val() {
		if key == "lockgw:mark:{0}" {
			continue // all gateways share it
		}
		if ttl := s.Client().PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > 2*time.Minute || !strings.Contains(key, "app:lockgw-doctor-") && !strings.Contains(key, "app:lockgw:selftest:doctor-") {
			t.Errorf("left behind: %s for %v, want nothing that is not the probe's or lasts longer than two minutes", key, ttl)
		}
	}
}

// What only looks like a Redis is told as what it is, not as missing rights.
func TestServersCompareNothing(t *testing.T) {
	s := redistest.Start(t)
	found := examine(t, "redis://"+redistest.Heedless(t, s.Addr, redistest.Versions), "")
	wantFinding(t, found, "locks", Fail, "compare-and-set does not work")
	wantFinding(t, found, "locks", Fail, "connect to Redis itself")
}

func TestServersSettings(t *testing.T) {
	for _, tt := range []struct {
		name, check string
		args        []string
		level       Level
		text        string
	}{
		{"evicts", "eviction", []string{"--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"}, Fail, "noeviction"},
		{"would evict", "eviction", []string{"--maxmemory-policy", "allkeys-lru"}, Warn, "noeviction"},
		{"no persistence", "persistence", nil, Warn, "appendonly"},
		{"snapshots", "persistence", []string{"--save", "3600 1"}, Warn, "snapshots"},
		{"no keep-alive", "tcp-keepalive", []string{"--tcp-keepalive", "0"}, Warn, "CONFIG SET tcp-keepalive"},
		{"idle timeout", "timeout", []string{"--timeout", "300"}, Warn, "300 s"},
		{"replica", "role", []string{"--replicaof", "127.0.0.1", "1"}, Fail, "127.0.0.1:1"},
		{"cluster", "cluster", []string{"--cluster-enabled", "yes"}, Fail, "redis+cluster"},
		{"full", "locks", []string{"--maxmemory", "1"}, Fail, "maxmemory"},
		{"no replicas", "locks", []string{"--min-replicas-to-write", "1"}, Fail, "min-replicas-to-write"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := examine(t, redistest.Start(t, tt.args...).URL(), "")
			wantFinding(t, found, tt.check, tt.level, tt.text)
			if f := found["locks"]; f.Level == Fail && strings.Contains(f.Remedy, "ACL") {
				t.Errorf("locks = %+v: no right would help", f)
			}
		})
	}
}

func TestServersReplicas(t *testing.T) {
	s := redistest.Start(t)
	host, port, _ := strings.Cut(s.Addr, ":")
	redistest.Start(t, "--replicaof", host, port)
	redistest.Await(t, "the replica is connected", func() bool {
		return strings.Contains(s.Client().Info(t.Context(), "replication").Val(), "state=online")
	})
	wantFinding(t, examine(t, s.URL(), ""), "replicas", Warn, "min-replicas-to-write")
	if err := s.Client().ConfigSet(t.Context(), "min-replicas-to-write", "1").Err(); err != nil {
		t.Fatal(err)
	}
	wantFinding(t, examine(t, s.URL(), ""), "replicas", OK, "")
}

// user is the rights of an ACL user, with its password.
func user(name, rights string) []string {
	return append([]string{"--user", name, "on", ">p"}, strings.Fields(rights)...)
}

func TestServersRights(t *testing.T) {
	rights := strings.ReplaceAll(NeededRights, "%[1]s", "app:")
	s := redistest.Start(t, slices.Concat(
		user("enough", rights),
		user("no_channels", strings.ReplaceAll(rights, "&", "&x")),
		user("no_publish", rights+" -publish"),
		user("no_subscribe", rights+" -subscribe"),
		user("no_scripts", rights+" -eval"),
		user("other_keys", strings.ReplaceAll(rights, "~app:*", "~other:*")),
		user("no_list", rights+" -scan"),
		user("no_compare", rights+" -hexists"),
		user("no_foreign", rights+" -hrandfield"),
		user("no_time", rights+" -time"),
		user("no_info", rights+" -info"),
		user("no_config", rights+" -config|get"),
		user("neither", rights+" -info -config|get"),
	)...)
	for name, want := range map[string]map[string]Level{
		"enough":       {},
		"no_channels":  {"messages": Fail, "locks": Fail},
		"no_publish":   {"messages": Fail, "locks": Fail},
		"no_subscribe": {"messages": Fail},
		"no_scripts":   {"locks": Fail},
		"other_keys":   {"locks": Fail},
		"no_list":      {"locks": Fail},
		"no_compare":   {"locks": Fail},
		"no_foreign":   {"locks": Fail},
		"no_time":      {"locks": Fail, "clock": Fail},
		"no_info":      {"info": Warn},
		"no_config":    {"configuration": Warn},
		"neither":      {"info": Warn, "configuration": Warn, "eviction": Warn},
	} {
		t.Run(name, func(t *testing.T) {
			found := examine(t, "redis://"+name+":p@"+s.Addr, "app:")
			for check, level := range want {
				if found[check].Level != level {
					t.Errorf("%s = %+v, want %s", check, found[check], level)
				}
			}
			for check, f := range found {
				if _, ok := want[check]; !ok && f.Level == Fail {
					t.Errorf("%s = %+v, want no failure", check, f)
				}
			}
			if command := map[string]string{"no_compare": "HEXISTS", "no_foreign": "HRANDFIELD"}[name]; command != "" {
				wantFinding(t, found, "locks", Fail, "allow it "+command+";")
				wantFinding(t, found, "locks", Fail, "ACL SETUSER ...")
			}
		})
	}
}

func TestServersWithoutServer(t *testing.T) {
	locked := redistest.Start(t, "--requirepass", "secret")
	gone := redistest.Start(t)
	gone.Kill()
	full := redistest.StartWith(t, func(dir string) { servertest.SmallDisk(t, dir, "1m") }, "--save", "3600 1")
	servertest.Fill(t, full.Data, 0)
	full.Client().Set(t.Context(), "k", "v", 0)
	full.Client().BgSave(t.Context())
	redistest.Await(t, "a snapshot that fails", func() bool { return full.Client().Ping(t.Context()).Err() != nil })
	for _, tt := range []struct{ name, url, prefix, check, text string }{
		{"no server", gone.URL(), "", "connection", "not reachable"},
		{"no password", locked.URL(), "", "password", "NOAUTH"},
		{"wrong password", "redis://:wrong@" + locked.Addr, "", "password", "WRONGPASS"},
		{"no room", full.URL(), "", "connection", "make room there"},
		{"bad option", locked.URL() + "?max_retries=3", "", "address", "max_retries"},
		{"bad prefix", locked.URL(), "{a}", "address", "key_prefix"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := examine(t, tt.url, tt.prefix)
			wantFinding(t, found, tt.check, Fail, tt.text)
			if len(found) != 1 || (found[tt.check].Remedy == connectionRemedy) != (tt.name == "no server") {
				t.Errorf("found = %+v, want nothing more, and to look for the server only where it is away", found)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if found := Servers(ctx, redis.Config{URL: "redis://:secret@" + locked.Addr}); len(found) != 1 || found[0].Level != Fail {
		t.Errorf("with a canceled context: found = %+v, want one failure", found)
	}
}

// What no server at hand is like.
func TestFindings(t *testing.T) {
	info := func(pairs ...string) serverFacts {
		f := serverFacts{info: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			f.info[pairs[i]] = pairs[i+1]
		}
		return f
	}
	for _, tt := range []struct {
		name  string
		found Finding
		level Level
		text  string
	}{
		{"6.2", checkVersion(info("redis_version", "6.2.14")), Fail, "7.0"},
		{"7.0", checkVersion(info("redis_version", "7.0.0")), OK, "7.0.0"},
		{"8", checkVersion(info("redis_version", "8.2.1")), OK, "8.2.1"},
		{"10", checkVersion(info("redis_version", "10.0.0")), OK, "10.0.0"},
		{"version not told", checkVersion(info()), "", ""},
		{"a replica that Sentinels name", checkRole(serverFacts{info: map[string]string{"role": "slave", "master_host": "h", "master_port": "1"}, watched: "m"}), Fail, "SENTINEL GET-MASTER-ADDR-BY-NAME m"},
		{"clients 79 of 100", checkClients(info("connected_clients", "79", "maxclients", "100")), OK, "79 of 100"},
		{"clients 80 of 100", checkClients(info("connected_clients", "80", "maxclients", "100")), Warn, "80 of 100"},
		{"clients not told", checkClients(info()), "", ""},
		{"notifications", checkNotifications(serverFacts{config: map[string]string{redis.NotifySetting: "gxK"}}), OK, "at once"},
		{"all notifications", checkNotifications(serverFacts{config: map[string]string{redis.NotifySetting: "AKE"}}), OK, "at once"},
		{"notifications of events", checkNotifications(serverFacts{config: map[string]string{redis.NotifySetting: "AE"}}), OK, "when its lease is over"},
		{"notifications not told", checkNotifications(info()), "", ""},
		{"clock in time", clockFinding(-time.Second), OK, "1s"},
		{"clock ahead", clockFinding(1500 * time.Millisecond), Warn, "+1.5 s"},
		{"clock behind", clockFinding(-90 * time.Second), Warn, "-90.0 s"},
		{"quick", latencyFinding(slowLatency, time.Second), OK, "50ms on average, 1s at worst"},
		{"slow", latencyFinding(slowLatency+1, time.Second), Warn, "nearer"},
	} {
		if f := tt.found; f.Level != tt.level || !strings.Contains(f.Detail+" "+f.Remedy, tt.text) {
			t.Errorf("%s: %+v, want %q with %q", tt.name, f, tt.level, tt.text)
		}
	}
}
