# Sourced by test.sh: podman with a store of its own in $work, so that no image of
# the machine is met, and with settings that a machine with few rights allows.

settings() {
	# Without a journal podman writes its events into a file; without the right to
	# raise limits its own defaults are refused.
	cat >"$work/containers.conf" <<-END
		[containers]
		default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
		log_driver = "k8s-file"
		[engine]
		cgroup_manager = "cgroupfs"
		events_logger = "file"
		runtime = "runc"
	END
	export CONTAINERS_CONF=$work/containers.conf
}

engine() {
	podman --root "$work/store" --runroot "$work/run" --storage-driver overlay "$@"
}

# podman runs health checks by timers of systemd, which not every machine has; and not every
# machine has the cgroup that counts processes.
run() {
	engine run --pull=never --no-healthcheck --pids-limit=-1 "$@"
}

# What the Dockerfile builds from, made of Debian's packages and this machine's Go,
# under the names that it has for them: no registry is asked.
stand_ins() {
	clean_root "$work/debian"
	tar -c -C "$work/debian" . | engine import -q \
		-c ENV=PATH=/usr/local/go/bin:/usr/bin:/bin \
		-c ENV=GOPROXY="file:///modules,$(go env GOPROXY)" \
		- docker.io/library/golang:1.26.8-bookworm
	local static=$work/static
	mkdir -p "$static"/{etc/ssl/certs,home/nonroot,tmp,usr/share}
	chmod 1777 "$static/tmp"
	printf '%s\n' root:x:0:0:root:/root:/sbin/nologin nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin >"$static/etc/passwd"
	printf '%s\n' root:x:0: nonroot:x:65532: >"$static/etc/group"
	cp -rL /etc/ssl/certs/ca-certificates.crt "$static/etc/ssl/certs"
	cp -r /usr/share/zoneinfo "$static/usr/share"
	tar -c -C "$static" . | engine import -q -c USER=65532:65532 - gcr.io/distroless/static-debian12:nonroot
}

# Go, its modules and what it has compiled already are the machine's own. Of the modules it
# may have only what is compiled, and the Dockerfile downloads all.
build() { # image, version
	go mod download
	engine build -q --format docker --pull=never --network host \
		-v "$(go env GOROOT):/usr/local/go:ro" \
		-v "$(go env GOMODCACHE)/cache/download:/modules:ro" \
		-v "$(go env GOCACHE):/root/.cache/go-build" \
		--build-arg TARGETARCH="$(go env GOHOSTARCH)" --build-arg VERSION="$2" \
		-f deploy/docker/Dockerfile -t "$1" .
}
