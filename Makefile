# make test is all that a clean Debian machine with Go needs; the rest is for work
# on the project.

GO ?= go
BIN := bin

# What the tests start or call, and the Debian packages it comes in.
TEST_COMMANDS := redis-server redis-cli etcd java mariadb-install-db pg_createcluster pgbouncer nc curl python3
TEST_FILES := /usr/share/java/zookeeper.jar
TEST_PACKAGES := redis-server redis-tools etcd-server libzookeeper-java default-jre-headless mariadb-server postgresql pgbouncer netcat-openbsd curl python3-minimal

GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)

.PHONY: build cross test race lint check shop planted model fuzz kills restarts upgrade soak bench bench-peers bench-limits bench-stores clients interop versions packages release reproducible packages-test boot-test image-test newcomer helm helm-server schemathesis browser screenshots docs vuln clean needs needs-browser

## build: the program, in bin/lockgw
build:
	$(GO) build -trimpath -tags nomsgpack -o $(BIN)/lockgw ./cmd/lockgw

## cross: the program for developers' laptops, compiled and vetted (see docs/install.md)
CROSS ?= darwin freebsd
# What starts real gateways and watches them from outside does so on Linux alone.
LINUX_ONLY := cmd/lockgw/(e2e|history|interop|restarts|doors|stores)$$|docs/
# Nobody runs what this compiles; without optimising it takes a third less time.
UNOPTIMISED := -gcflags='all=-N -l'
cross:
	@for os in $(CROSS); do echo "$$os"; export GOOS=$$os CGO_ENABLED=0; \
	$(GO) build $(UNOPTIMISED) ./... && $(GO) vet $(UNOPTIMISED) $$($(GO) list ./... | grep -vE '$(LINUX_ONLY)') || exit 1; done

# Packages side by side. Tests wait for leases to end and servers to start, more than they compute.
SIDE := -p $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN))

## test: install what the tests need, then run them
test: needs
	$(GO) test $(SIDE) -timeout 20m ./...

## race: the tests under the race detector (needs a C compiler)
# Models have one goroutine, and tests of docs/ only start programs that are built without it.
NO_RACE := /contender/model$$|/docs/
race: needs
	CGO_ENABLED=1 $(GO) test $(SIDE) -race -timeout 20m $$($(GO) list ./... | grep -vE '$(NO_RACE)')

## lint: golangci-lint, with gofmt and go vet in it
lint: $(GOLANGCI)
	$(GOLANGCI) run --allow-parallel-runners

## check: everything that a change has to pass
check: lint race

## shop: the tutorial, a shop that must not oversell (see docs/shop)
shop: needs
	$(GO) run ./docs/shop

## planted: known bugs, one at a time, each of which the core's tests have to find
planted: needs
	$(GO) test -tags planted -count=1 -timeout 40m ./session/planted

## model: the rules of a lock, every state of the small instances, and many simulated hours (see docs/model.md)
SEEDS ?= 10000
model:
	$(GO) test -v -count=1 -timeout 0 ./session/contender/model -states 1000000 -seeds $(SEEDS)

## fuzz: each fuzz target for five minutes, beginning with its corpus (FUZZTIME=2m for less; see docs/testing.md)
FUZZTIME ?= 5m
FUZZ ?= .
fuzz:
	@grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z]+' . | sed -E 's,/[^/]*:func , ,' | grep -E '$(FUZZ)' | while read -r dir name; do \
	echo "$$dir $$name"; $(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) "$$dir" || exit 1; done

## kills: from the death of a client to the next one's grant, a thousand times
kills: needs
	$(GO) test -v -count=1 -run TestKills ./socket -kills 1000

## restarts: gateways killed and started again under load (see docs/guarantees.md)
ROUNDS ?= 500
restarts: needs
	$(GO) test -v -count=1 -timeout 0 -run TestRestarts ./cmd/lockgw/restarts -rounds $(ROUNDS)

## upgrade: the present gateway in the place of one of an earlier commit, of which it has to know what is held
FROM ?= a78a0ee
upgrade: needs
	$(GO) test -v -count=1 -timeout 30m -run '^TestUpgrade$$' ./cmd/lockgw/restarts -from $(FROM)

## soak: histories of real gateways under faults, until so many grants were seen (see docs/testing.md)
GRANTS ?= 100000
soak: needs
	$(GO) test -v -timeout 0 -count=1 -run TestSoak ./cmd/lockgw/history -grants $(GRANTS)

## bench: what a lock costs, beside the limits of the machine (see docs/performance.md)
bench: needs
	cd bench && $(GO) run .

## bench-peers: the same beside other libraries
bench-peers: needs
	cd bench && $(GO) run . -peers

## bench-limits: how much a gateway bears, what it costs at rest and under attack (see docs/performance.md; best as root)
bench-limits: needs
	cd bench && $(GO) run . -limits

## bench-stores: a gateway over PostgreSQL, MariaDB, etcd and ZooKeeper, beside what their users have (see docs/performance.md)
bench-stores: needs
	cd bench && for s in postgres mysql etcd zookeeper; do echo "## $$s"; $(GO) run . -store $$s || exit; done

## docs: the pages that are made from the code
docs:
	$(GO) generate ./docs/check

## browser: the web page in a real browser (installs Chromium where it is missing)
browser: needs-browser
	$(GO) test -tags browser -count=1 ./api/web

## screenshots: the pictures of docs/web.md
screenshots: needs-browser
	mkdir -p docs/images
	$(GO) test -tags browser -count=1 -run TestScreenshots ./api/web -screenshots $(CURDIR)/docs/images

## clients: the socket against Redis clients of other languages (needs python3, node and java)
clients: build
	socket/testdata/clients/run.sh

## interop: programs that lock on the same Redis without lockgw, such as Java with Redisson; writes docs/interop.md
interop:
	cmd/lockgw/interop/run.sh -page=$(CURDIR)/docs/interop.md

## versions: the tests of the stores with other versions of their servers (needs root; VERSIONS="redis-8 mysql" for some)
versions:
	backend/servertest/versions.sh $(VERSIONS)

## packages: deb and rpm for amd64 and arm64, in bin/packages (see docs/install.md)
# Commits behind a tag follow its version; with -5-gabc they would come before it, as 1.2.3-rc does.
VERSION ?= $(or $(shell git describe --tags --match 'v*' 2>/dev/null | sed -E 's/^v//; s/-([0-9]+)-g/+\1.g/'),0.1.0-dev)
ARCHES ?= amd64 arm64
packages:
	deploy/packages/build.sh $(VERSION) $(ARCHES)

## release: all files of a version, in bin/release, from what is committed (VERSION=1.2.3, if no tag says so; see docs/release.md)
release:
	deploy/release/release.sh $(VERSION)

## reproducible: the release twice, from two clones, the second with an empty cache; compares the bytes (VERSION=1.2.3 as for release)
reproducible:
	deploy/release/reproducible.sh $(VERSION)

## packages-test: install, upgrade, remove and purge them in clean roots (needs root)
packages-test:
	deploy/packages/test.sh

## boot-test: the deb in a Debian that systemd has booted (needs root; SUITE=trixie for a newer one)
SUITE ?= bookworm
boot-test:
	deploy/packages/boot.sh $(SUITE)

## image-test: build the container image and run it (needs root, and a machine that can run containers)
image-test:
	deploy/docker/test.sh

## newcomer: the first minute with lockgw, in a Debian with nothing but curl (needs root)
newcomer:
	deploy/newcomer.sh

## helm: the chart, without a cluster (see docs/kubernetes.md)
helm:
	cd deploy/docker/probe && $(GO) vet ./... && $(GO) test ./...
	cd helm/check && $(GO) vet ./... && $(GO) test -count=1 ./...

## helm-server: the chart on an API server, which is built first (that takes long, once)
helm-server:
	cd helm/check/apiserver && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(CURDIR)/$(BIN)/apiserver/ k8s.io/kubernetes/cmd/kube-apiserver go.etcd.io/etcd/server/v3
	cd helm/check && $(GO) test -count=1 -run '^TestServer$$' . -apiserver $(CURDIR)/$(BIN)/apiserver

## schemathesis: requests made from openapi.yaml against a gateway (see docs/testing.md)
SCHEMATHESIS ?= schemathesis
schemathesis: build
	api/schemathesis.sh $(BIN)/lockgw $(SCHEMATHESIS)

## vuln: known vulnerabilities in what is called (VULNDB=file:///path for a copy of the database)
VULNDB ?= https://vuln.go.dev
vuln:
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.1.4 -db $(VULNDB) ./...
	cd bench && $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.1.4 -db $(VULNDB) ./...

clean:
	rm -rf $(BIN)

needs:
	@missing=; for c in $(TEST_COMMANDS); do command -v $$c >/dev/null || missing="$$missing $$c"; done; \
	for f in $(TEST_FILES); do [ -e $$f ] || missing="$$missing $$f"; done; \
	[ -z "$$missing" ] && exit 0; \
	echo "missing:$$missing; installing $(TEST_PACKAGES)"; \
	[ "$$(id -u)" = 0 ] || { echo "not root: run apt-get install $(TEST_PACKAGES) as root first"; exit 1; }; \
	apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(TEST_PACKAGES)

needs-browser:
	@command -v chromium >/dev/null && exit 0; \
	[ "$$(id -u)" = 0 ] || { echo "not root: run apt-get install chromium as root first"; exit 1; }; \
	apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium

$(GOLANGCI):
	GOBIN=$(CURDIR)/$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(BIN)/golangci-lint $@
