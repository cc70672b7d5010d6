# Sourced by what builds the program for others: one way to build it.

program() { # os, arch, version, file
	CGO_ENABLED=0 GOOS=$1 GOARCH=$2 go build -trimpath -buildvcs=false -tags nomsgpack \
		-ldflags "-s -w -X github.com/lockgw/lockgw/cmd/lockgw/cli.release=$3" -o "$4" ./cmd/lockgw
}

# Pages and completions are told by the program itself, one for this machine.
documents() { # program, directory
	mkdir -p "$2/man" "$2/completion"
	"$1" man "$2/man"
	gzip -9n "$2"/man/*.1
	"$1" completion bash >"$2/completion/lockgw.bash"
	"$1" completion zsh >"$2/completion/_lockgw"
	"$1" completion fish >"$2/completion/lockgw.fish"
}
