#!/bin/sh
# Runs client libraries of other languages against a gateway's resp.sock.
# Usage: run.sh [PATH [python|node|java ...]]
# Without PATH a gateway is started for it: $LOCKGW, or bin/lockgw of the project.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
gateway=
stop() {
	if [ -n "$gateway" ]; then
		kill "$gateway" && wait "$gateway" || true
	fi
	rm -rf "$tmp"
}
trap stop EXIT

start_gateway() {
	mkdir -m 750 "$tmp/run"
	"${LOCKGW:-$here/../../../bin/lockgw}" serve --socket-dir "$tmp/run" --state-dir "$tmp/state" --http-listen 127.0.0.1:0 2>"$tmp/log" &
	gateway=$!
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ ! -S "$tmp/run/resp.sock" ] || return 0
		sleep 0.2
	done
	cat "$tmp/log" >&2
	exit 1
}

if [ $# -gt 0 ]; then
	socket=$1
	shift
else
	start_gateway
	socket=$tmp/run/resp.sock
fi

run_python() {
	python3 -m venv "$tmp/python"
	"$tmp/python/bin/pip" install --quiet --disable-pip-version-check -r "$here/python/requirements.txt"
	"$tmp/python/bin/python" "$here/python/check.py" "$socket"
}

run_node() {
	cp -r "$here/node" "$tmp/node"
	(cd "$tmp/node" && npm install --silent --no-audit --no-fund --ignore-scripts)
	node "$tmp/node/ioredis.mjs" "$socket"
	node "$tmp/node/node-redis.mjs" "$socket"
}

run_java() {
	cp -r "$here/java" "$tmp/java"
	(cd "$tmp/java" && mvn -q -B "-Dmaven.repo.local=$tmp/m2" package dependency:build-classpath -Dmdep.outputFile="$tmp/classpath")
	for client in JedisCheck LettuceCheck; do
		# netty logs that a Unix socket has no TCP options; without a configuration nobody listens.
		java -Djava.util.logging.config.file=/dev/null -cp "$tmp/java/target/classes:$(cat "$tmp/classpath")" "$client" "$socket"
	done
}

for client in ${*:-python node java}; do
	"run_$client"
done
