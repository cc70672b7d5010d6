#!/bin/sh
# Other programs beside lockgw on one Redis: prepares them, runs every case, prints
# the matrix. Arguments go to the test, such as -modes=single -only=Redisson or
# -page=PATH, which writes the matrix there.
set -eu

needs() {
	missing=
	for command in redis-server curl java mvn node npm python3; do
		command -v "$command" >/dev/null || missing="$missing $command"
	done
	[ -n "$missing" ] || return 0
	packages="redis-server curl openjdk-17-jdk-headless maven nodejs npm python3-venv"
	echo "missing:$missing; installing $packages"
	[ "$(id -u)" = 0 ] || { echo "not root: run apt-get install $packages as root first"; exit 1; }
	apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $packages
}

here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

prepare_java() {
	cp -r "$here/testdata/java" "$tmp/java"
	for profile in redisson-3 redisson-4; do
		(cd "$tmp/java" && mvn -q -B "-P$profile" clean compile dependency:build-classpath -Dmdep.outputFile="$tmp/$profile.classpath")
		mkdir "$tmp/$profile"
		mv "$tmp/java/target/classes" "$tmp/$profile/classes"
		mv "$tmp/$profile.classpath" "$tmp/$profile/classpath"
	done
}

prepare_python() {
	python3 -m venv "$tmp/python"
	"$tmp/python/bin/pip" install --quiet --disable-pip-version-check -r "$here/testdata/python/requirements.txt"
}

prepare_node() {
	cp -r "$here/testdata/node" "$tmp/node"
	(cd "$tmp/node" && npm install --silent --no-audit --no-fund --ignore-scripts)
}

prepare_go() {
	(cd "$here/testdata/go" && go build -buildvcs=false -o "$tmp/go" .)
}

needs
prepare_java
prepare_python
prepare_node
prepare_go
cd "$here"
go test -v -count=1 -timeout 40m -parallel 8 -run TestInterop . -programs "$tmp" "$@"
