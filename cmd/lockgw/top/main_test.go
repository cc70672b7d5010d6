package top

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/run"
	"github.com/lockgw/lockgw/cmd/lockgw/serve"
	"github.com/lockgw/lockgw/cmd/lockgw/verbs"
)

// program is lockgw as far as these tests need it. They find it as lockgw in their PATH.
func program() *cobra.Command {
	root := cli.NewRoot()
	root.AddCommand(New(), run.New(), run.NewGuardian(), serve.New(), verbs.NewList())
	return root
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"lockgw": func() { os.Exit(cli.Run(program())) }})
}
