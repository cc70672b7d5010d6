#!/usr/bin/env bash
# Builds the image and runs it, as tightly as an engine can: nothing to write but
# its volumes, no capability, no network but loopback. Other containers lock over
# HTTP and over the sockets; gateways are stopped, killed and replaced meanwhile.
# Needs root, mounts and cgroups. Ends with "ok" or with the line that failed.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "${1-}" = contained ] || exec deploy/contained.sh --root deploy/docker/test.sh contained
. deploy/packages/root.sh
. deploy/docker/engine.sh
trap 'echo "failed in line $LINENO: $BASH_COMMAND" >&2' ERR
fail() { echo "$1" >&2; exit 1; }

image=lockgw/lockgw:test
debian=docker.io/library/golang:1.26.8-bookworm
work=$(mktemp -d)
# The engine clears up after a container in a process of its own, which mounts the store
# again. So the store goes once such processes have ended.
clean_up() {
	engine rm -f -a --depend -t 0 >/dev/null 2>&1 || true
	for _ in $(seq 100); do
		umount -l "$work/store/overlay" 2>/dev/null || true
		rm -rf "$work" 2>/dev/null && return
		sleep 0.1
	done
	rm -rf "$work"
}
trap clean_up EXIT

gateway() { # name, options of the gateway...
	local name=$1
	shift
	run -d --name "$name" --read-only --read-only-tmpfs=false --cap-drop all \
		--security-opt no-new-privileges --network none \
		-v sockets:/run/lockgw -v state:/var/lib/lockgw "$image" serve "$@" >/dev/null
	alive "$name"
}

alive() { # name: the command of the image's HEALTHCHECK, until it succeeds
	for _ in $(seq 100); do
		# shellcheck disable=SC2086
		engine exec "$1" $probe 2>/dev/null && return
		sleep 0.1
	done
	engine logs "$1" >&2
	fail "$1 is not healthy"
}

http() { # gateway, arguments of curl...: in a container beside it, which shares its loopback alone
	local beside=$1
	shift
	run --rm --user 1000:1000 --network "container:$beside" "$debian" curl -sS "$@"
}

client() { # user, groups, arguments of lockgw...: a container with the directory of the sockets
	local user=$1 group=$2
	shift 2
	run --rm --network none --read-only --cap-drop all --user "$user" ${group:+--group-add "$group"} \
		-v sockets:/run/lockgw:ro -e LOCKGW_SOCKET=/run/lockgw/resp.sock "$image" "$@"
}

fence() { # gateway, lock: of who holds it
	http "$1" "localhost:7420/v1/locks/$2" | sed -n 's/.*"state":"held".*"fence":\([0-9]*\).*/\1/p'
}

needs podman=podman runc=runc mmdebstrap=mmdebstrap
settings
echo '== build'
{
	stand_ins
	build "$image" 1.2.3
} >/dev/null
inspect() { engine image inspect -f "$1" "$image"; }
[ "$(inspect '{{.Config.User}}')" = 65532:65532 ] || fail 'the image has another user'
probe=$(inspect '{{range slice .HealthCheck.Test 1}}{{.}} {{end}}')
[ "$(inspect '{{index .Labels "org.opencontainers.image.version"}}')" = 1.2.3 ] || fail 'the image does not say its version'
[ "$(run --rm --network none "$image" version | sed -n '1s/^lockgw \([^ ]*\).*/\1/p')" = 1.2.3 ] ||
	fail 'the program has another version'
! run --rm --network none --entrypoint /bin/sh "$image" -c true 2>/dev/null || fail 'the image has a shell'

echo '== run'
gateway one
[ "$(engine exec one /usr/bin/lockgw-probe /run/lockgw/http.sock /v1/locks/a/check 2>&1 | grep -c 400)" = 1 ] ||
	fail 'the probe says of another answer than 200 that it is well'
T=$(http one -f -X PUT -H 'Accept: text/plain' 'localhost:7420/v1/locks/nightly?max_hold=1h')
held=$(fence one nightly)
[ -n "$held" ] || fail 'nightly is not held'
[ "$(http one -o /dev/null -w '%{http_code}' -X PUT localhost:7420/v1/locks/nightly)" = 423 ] || fail 'nightly is granted twice'

client 1000:1000 65532 run weekly -- /usr/bin/lockgw version >/dev/null || fail 'no lock over the mounted socket'
status=0
client 1000:1000 65532 run -n nightly -- /usr/bin/lockgw version || status=$?
[ $status = 75 ] || fail "a lock that is held gives $status over the socket, want 75"
! client 1000:1000 '' status 2>/dev/null || fail 'a user without the group may use the socket'
! client 1000:1000 65532 break nightly --fence "$held" 2>/dev/null || fail 'a user of the group is an administrator'
http one -f -o /dev/null -X PUT localhost:7420/v1/locks/stuck
client 65532:65532 '' break stuck --fence "$(fence one stuck)" >/dev/null || fail 'the user of the gateway is no administrator'
[ -z "$(fence one stuck)" ] || fail 'stuck is not broken'

echo '== stop and start'
same() { [ "$(fence "$1" nightly)" = "$held" ] || fail "$2: nightly is no longer held with the fence $held"; }
run -d --name waiter --network container:one "$debian" \
	curl -sS -X PUT 'localhost:7420/v1/locks/nightly?wait=1m' >/dev/null
for _ in $(seq 100); do
	http one localhost:7420/v1/locks/nightly | grep '"waiters":1' >/dev/null && break
	sleep 0.1
done
engine stop -t 25 one >/dev/null
[ "$(engine inspect -f '{{.State.ExitCode}}' one)" = 0 ] || fail 'SIGTERM does not end the gateway well'
engine wait waiter >/dev/null
engine logs waiter 2>&1 | grep '"status":503,"code":"draining"' >/dev/null || fail "who waits is told: $(engine logs waiter 2>&1)"
engine rm waiter >/dev/null
engine start one >/dev/null
alive one
same one 'after a stop and a start'
engine kill one >/dev/null
engine wait one >/dev/null
engine start one >/dev/null
alive one
same one 'after a kill'

echo '== another container with the same volumes'
engine stop -t 25 one >/dev/null
engine rm one >/dev/null
gateway two
same two 'in a new container'
http two -f -o /dev/null -X DELETE --oauth2-bearer "$T" localhost:7420/v1/locks/nightly
[ -z "$(fence two nightly)" ] || fail 'nightly is not free'
echo ok
