package serve

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/cmd/lockgw/verbs"
)

// program is lockgw as far as these tests need it. They find it as lockgw in their PATH.
func program() *cobra.Command {
	root := cli.NewRoot()
	root.AddCommand(New(examiner), verbs.NewList(), verbs.NewStatus())
	return root
}

// examiner finds what it was told.
func examiner(_ context.Context, _ config.Settings, passed bool) any {
	return map[string]bool{"passed": passed}
}

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "lockgw" { // the program has the umask that it is started with
		unix.Umask(0o022) // a gateway refuses directories that everybody may write
	}
	testscript.Main(m, map[string]func(){"lockgw": func() { os.Exit(cli.Run(program())) }})
}
