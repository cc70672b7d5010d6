// Command lockgw is a sidecar lock gateway: `lockgw serve` runs it, the other
// commands talk to it.
//
// This package knows flags, environment, files, signals and every store. It puts
// the other packages together and decides nothing about locks.
package main

import (
	"fmt"
	"os"
)

func main() {
	code, message := exitCode(newRootCommand().Execute())
	if message != "" {
		fmt.Fprintln(os.Stderr, "lockgw:", message)
	}
	os.Exit(code)
}
