# make test is all that a clean Debian machine with Go needs; the rest is for work
# on the project.

GO ?= go
BIN := bin

# What the tests start or call, and the Debian packages it comes in.
TEST_COMMANDS := redis-server redis-cli nc curl python3
TEST_PACKAGES := redis-server redis-tools netcat-openbsd curl python3-minimal

GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)

.PHONY: build test race lint check shop planted kills restarts soak bench bench-peers clients clean needs

## build: the program, in bin/lockgw
build:
	$(GO) build -trimpath -o $(BIN)/lockgw ./cmd/lockgw

## test: install what the tests need, then run them
test: needs
	$(GO) test ./...

## race: the tests under the race detector (needs a C compiler)
race: needs
	CGO_ENABLED=1 $(GO) test -race ./...

## lint: golangci-lint, with gofmt and go vet in it
lint: $(GOLANGCI)
	$(GOLANGCI) run

## check: everything that a change has to pass
check: lint race

## shop: the tutorial, a shop that must not oversell (see docs/shop)
shop: needs
	$(GO) run ./docs/shop

## planted: known bugs, one at a time, each of which the core's tests have to find
planted: needs
	$(GO) test -tags planted -count=1 -timeout 40m ./session/planted

## kills: from the death of a client to the next one's grant, a thousand times
kills: needs
	$(GO) test -v -count=1 -run TestKills ./socket -kills 1000

## restarts: gateways killed and started again under load (see docs/guarantees.md)
ROUNDS ?= 500
restarts: needs
	$(GO) test -v -count=1 -timeout 0 -run TestRestarts ./cmd/lockgw/restarts -rounds $(ROUNDS)

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

## clients: the socket against Redis clients of other languages (needs python3, node and java)
clients: build
	socket/testdata/clients/run.sh

clean:
	rm -rf $(BIN)

needs:
	@missing=; for c in $(TEST_COMMANDS); do command -v $$c >/dev/null || missing="$$missing $$c"; done; \
	[ -z "$$missing" ] && exit 0; \
	echo "missing:$$missing; installing $(TEST_PACKAGES)"; \
	[ "$$(id -u)" = 0 ] || { echo "not root: run apt-get install $(TEST_PACKAGES) as root first"; exit 1; }; \
	apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(TEST_PACKAGES)

$(GOLANGCI):
	GOBIN=$(CURDIR)/$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(BIN)/golangci-lint $@
