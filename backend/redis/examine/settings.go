package examine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockgw/lockgw/backend/redis"
)

// serverFacts are what a server says of itself. A text that is missing is "", a
// number 0.
type serverFacts struct {
	info   map[string]string // INFO
	config map[string]string // CONFIG GET; nil where it is forbidden

	clustered bool   // it is to be part of a cluster
	watched   string // by what Sentinels know it as a master; "": there are none
}

// text is what INFO says under the one name, or else CONFIG GET under the other.
func (f serverFacts) text(info, config string) string {
	if v, ok := f.info[info]; ok {
		return v
	}
	return f.config[config]
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// serverChecks each look at one setting; the zero Finding is that of one that the
// server does not tell.
var serverChecks = []func(serverFacts) Finding{
	checkVersion, checkRole, checkCluster, checkEviction, checkPersistence, checkReplicas,
	checkKeepAlive, checkIdleTimeout, checkClients, checkNotifications,
}

func checkVersion(f serverFacts) Finding {
	version := f.info["redis_version"]
	if version == "" {
		return Finding{}
	}
	major, _, _ := strings.Cut(version, ".")
	if number(major) < 7 {
		return Finding{Fail, "version", version + " does not know the scripts of lockgw", "use Redis 7.0 or later"}
	}
	return Finding{OK, "version", version, ""}
}

func checkRole(f serverFacts) Finding {
	switch role := f.info["role"]; {
	case role == "":
		return Finding{}
	case role == "slave" && f.watched != "":
		return Finding{
			Fail, "role", "the Sentinels name this server, which is a replica, and takes no writes",
			fmt.Sprintf("if that lasts, ask each of them for SENTINEL GET-MASTER-ADDR-BY-NAME %s, and have the one that is wrong "+
				"look anew: SENTINEL REMOVE, and then SENTINEL MONITOR with %s %s", f.watched, f.info["master_host"], f.info["master_port"]),
		}
	case role == "slave":
		return Finding{
			Fail, "role", "this is a replica, which takes no writes",
			fmt.Sprintf("name its master in backend.url: %s:%s", f.info["master_host"], f.info["master_port"]),
		}
	default:
		return Finding{OK, "role", role, ""}
	}
}

func checkCluster(f serverFacts) Finding {
	if f.info["cluster_enabled"] != "1" || f.clustered {
		return Finding{}
	}
	return Finding{
		Fail, "cluster", "this server is part of a cluster, of whose keys it has only some",
		"name it in backend.url by redis+cluster://, or use a server without cluster-enabled",
	}
}

func checkEviction(f serverFacts) Finding {
	e := redis.Eviction{Policy: f.text("maxmemory_policy", "maxmemory-policy")}
	if e.Policy == "" {
		return Finding{Warn, "eviction", "the server does not say whether it drops keys when its memory is full", "see that its maxmemory-policy is noeviction"}
	}
	limit := f.text("maxmemory", "maxmemory")
	e.MaxMemory, _ = strconv.ParseUint(limit, 10, 64)
	detail := fmt.Sprintf("maxmemory-policy is %s, maxmemory %s", e.Policy, limit)
	switch {
	case e.Err() != nil:
		return Finding{Fail, "eviction", detail + ": locks may be dropped when the memory is full", redis.EvictionRemedy}
	case e.Policy != "noeviction":
		return Finding{Warn, "eviction", detail + ": locks may be dropped once somebody sets a limit", redis.EvictionRemedy}
	default:
		return Finding{OK, "eviction", detail, ""}
	}
}

func checkPersistence(f serverFacts) Finding {
	const remedy = "CONFIG SET appendonly yes, and put it into its configuration file"
	aof := f.info["aof_enabled"] == "1" || f.config["appendonly"] == "yes"
	save, told := f.config["save"]
	switch {
	case aof:
		return Finding{OK, "persistence", "append-only file", ""}
	case !told:
		return Finding{}
	case save == "":
		return Finding{Warn, "persistence", "none: a restart of the server forgets every lock", remedy}
	default:
		return Finding{Warn, "persistence", "snapshots alone (save " + save + "): a restart of the server forgets the locks taken since the last one", remedy}
	}
}

func checkReplicas(f serverFacts) Finding {
	replicas := number(f.info["connected_slaves"])
	least, told := f.config["min-replicas-to-write"]
	switch {
	case replicas == 0 || !told:
		return Finding{}
	case number(least) == 0:
		return Finding{
			Warn, "replicas", fmt.Sprintf("%d, but the server goes on without: a failover may forget what it granted alone", replicas),
			"CONFIG SET min-replicas-to-write 1, and put it into its configuration file",
		}
	default:
		return Finding{OK, "replicas", fmt.Sprintf("%d, of which %s have to be there for a write", replicas, least), ""}
	}
}

func checkKeepAlive(f serverFacts) Finding {
	switch seconds, told := f.config["tcp-keepalive"]; {
	case !told:
		return Finding{}
	case number(seconds) == 0:
		return Finding{
			Warn, "tcp-keepalive", "0: a gateway whose machine has vanished counts as listening, and is passed locks that it cannot take",
			"CONFIG SET tcp-keepalive 60, and put it into its configuration file",
		}
	default:
		return Finding{OK, "tcp-keepalive", seconds + " s", ""}
	}
}

func checkIdleTimeout(f serverFacts) Finding {
	switch seconds, told := f.config["timeout"]; {
	case !told:
		return Finding{}
	case number(seconds) > 0:
		return Finding{
			Warn, "timeout", "idle connections are cut after " + seconds + " s, and the next lock waits for a new one",
			"CONFIG SET timeout 0, and put it into its configuration file",
		}
	default:
		return Finding{OK, "timeout", "none for idle connections", ""}
	}
}

func checkClients(f serverFacts) Finding {
	have, most := number(f.info["connected_clients"]), number(f.text("maxclients", "maxclients"))
	if have == 0 || most == 0 {
		return Finding{}
	}
	detail := fmt.Sprintf("%d of %d connections are taken", have, most)
	if have*10 >= most*8 {
		return Finding{Warn, "maxclients", detail, "raise it with CONFIG SET maxclients, or find out who takes them with CLIENT LIST"}
	}
	return Finding{OK, "maxclients", detail, ""}
}

// checkNotifications is for those who share names with programs that lock by a
// string key; nobody else needs the setting, so it is never wrong.
func checkNotifications(f serverFacts) Finding {
	switch flags, told := f.config[redis.NotifySetting]; {
	case !told:
		return Finding{}
	case redis.TellsOfKeys(flags):
		return Finding{OK, "notifications", redis.NotifySetting + " is " + flags + ": the release of a lock by SET NX PX is heard at once", ""}
	default:
		return Finding{
			OK, "notifications",
			redis.NotifySetting + " is without K and g: those who wait for a lock that another program took by SET NX PX are not woken by its release, but look when its lease is over, and once in each ttl of their own", "",
		}
	}
}
