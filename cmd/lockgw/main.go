// Command lockgw is a sidecar lock gateway: `lockgw serve` runs it, the other
// commands talk to it.
//
// This package wires: each command has a package of its own below it. They know flags,
// environment, files, signals and every store, put the other packages together and
// decide nothing about locks.
package main

import (
	"os"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

func main() { os.Exit(cli.Run(newRootCommand())) }
