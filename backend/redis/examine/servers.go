package examine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/redis/conn"
)

// servers looks at the settings of each server, and at what watches over them.
func (x *examination) servers(ctx context.Context) {
	if len(x.masters) == 1 && !x.clustered {
		x.findings = append(x.findings, x.settings(ctx, x.masters[0])...)
	} else {
		x.merge(ctx)
		x.cluster(ctx)
	}
	if x.sentinel != nil {
		x.watched(ctx)
	}
}

// merge tells what is well on all masters once, and the rest for each.
func (x *examination) merge(ctx context.Context) {
	var order []string
	byCheck := map[string][]Finding{}
	for _, c := range x.masters {
		for _, f := range x.settings(ctx, c) {
			if byCheck[f.Check] == nil {
				order = append(order, f.Check)
			}
			f.Detail = c.Options().Addr + ": " + f.Detail
			byCheck[f.Check] = append(byCheck[f.Check], f)
		}
	}
	for _, check := range order {
		all := byCheck[check]
		wrong := slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.Level == OK })
		if len(wrong) > 0 {
			x.findings = append(x.findings, wrong...)
			continue
		}
		details := make([]string, len(all))
		for i, f := range all {
			details[i] = f.Detail
		}
		x.add(Finding{OK, check, strings.Join(details, ", "), ""})
	}
}

// cluster asks a master what it knows of the cluster.
func (x *examination) cluster(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	text, err := x.masters[0].ClusterInfo(ctx).Result()
	if err != nil {
		x.add(Finding{Warn, "cluster", "not told: " + conn.Outcome(err).Error(), "allow this user CLUSTER INFO: ACL SETUSER ... +cluster|info"})
		return
	}
	x.add(clusterFinding(conn.InfoLines(text), len(x.masters)))
}

// slots that each cluster has.
const slots = 16384

func clusterFinding(info map[string]string, masters int) Finding {
	detail := fmt.Sprintf("%d masters, %s of %d slots served", masters, info["cluster_slots_ok"], slots)
	switch {
	case info["cluster_state"] != "ok" || number(info["cluster_slots_ok"]) < slots:
		return Finding{Fail, "cluster", detail + ", state " + info["cluster_state"], "see redis-cli --cluster check and --cluster fix"}
	case masters < 3:
		return Finding{Warn, "cluster", detail + ": fewer than three masters cannot agree on a failover", "add masters with redis-cli --cluster add-node"}
	default:
		return Finding{OK, "cluster", detail, ""}
	}
}

// watched looks at what the Sentinels know of the master.
func (x *examination) watched(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	told, err := x.askSentinels(ctx)
	if err != nil {
		x.add(Finding{Warn, "sentinel", "not told: " + conn.Outcome(err).Error(), "see that the Sentinels answer SENTINEL MASTER " + x.sentinel.MasterName})
		return
	}
	x.add(sentinelFinding(told))
	config, err := x.masters[0].ConfigGet(ctx, "min-replicas-*").Result()
	if err != nil {
		return // settings has told it
	}
	x.add(minReplicasFinding(number(config["min-replicas-to-write"])))
	down := time.Duration(number(told["down-after-milliseconds"])) * time.Millisecond
	x.add(maxLagFinding(time.Duration(number(config["min-replicas-max-lag"]))*time.Second, down))
}

// askSentinels returns what the first that answers knows of the master.
func (x *examination) askSentinels(ctx context.Context) (told map[string]string, err error) {
	for _, addr := range x.sentinel.SentinelAddrs {
		c := goredis.NewSentinelClient(&goredis.Options{
			Addr: addr, Username: x.sentinel.SentinelUsername, Password: x.sentinel.SentinelPassword, Dialer: x.sentinel.Dialer,
			TLSConfig: x.sentinel.TLSConfig, MaxRetries: -1, DisableIdentity: true, Protocol: 2,
			DialTimeout: conn.IOTimeout, ReadTimeout: conn.IOTimeout, ContextTimeoutEnabled: true,
		})
		told, err = c.Master(ctx, x.sentinel.MasterName).Result()
		_ = c.Close()
		if err == nil {
			return told, nil
		}
	}
	return nil, err
}

func sentinelFinding(told map[string]string) Finding {
	others, quorum, replicas := number(told["num-other-sentinels"]), number(told["quorum"]), number(told["num-slaves"])
	detail := fmt.Sprintf("%d of them, quorum %d, %d replicas of the master", others+1, quorum, replicas)
	switch {
	case replicas == 0:
		return Finding{Warn, "sentinel", detail + ": nothing can take the master's place", "add a replica"}
	case others < 2:
		return Finding{Warn, "sentinel", detail + ": fewer than three cannot outvote one that is cut off", "run three or more Sentinels on machines of their own"}
	default:
		return Finding{OK, "sentinel", detail, ""}
	}
}

func minReplicasFinding(least int) Finding {
	if least < 1 {
		return Finding{
			Warn, "min-replicas-to-write", "0: a master that is cut off goes on to grant locks while another is made master",
			"CONFIG SET min-replicas-to-write 1 on the master and its replicas, and put it into their configuration files",
		}
	}
	return Finding{OK, "min-replicas-to-write", strconv.Itoa(least), ""}
}

// maxLagFinding: a master that is cut off has to stop before another is made master.
func maxLagFinding(lag, down time.Duration) Finding {
	detail := fmt.Sprintf("%v, and down-after-milliseconds of the Sentinels %d", lag, down.Milliseconds())
	if lag >= down || lag == 0 {
		return Finding{
			Warn, "min-replicas-max-lag", detail + ": a master that is cut off goes on to grant locks after another was made master",
			"set min-replicas-max-lag on the master and its replicas to fewer seconds than down-after-milliseconds: CONFIG SET min-replicas-max-lag, or SENTINEL SET " +
				"<master> down-after-milliseconds",
		}
	}
	return Finding{OK, "min-replicas-max-lag", detail, ""}
}
