package run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/serve"
	"github.com/lockgw/lockgw/cmd/lockgw/verbs"
)

// program is lockgw as far as these tests need it. They find it as lockgw in their PATH.
func program() *cobra.Command {
	root := cli.NewRoot()
	root.AddCommand(New(), NewGuardian(), serve.New(nil), verbs.NewList())
	return root
}

// programs are those that tests find in their PATH.
var programs = map[string]func(){"lockgw": func() { os.Exit(cli.Run(program())) }}

func TestMain(m *testing.M) {
	if _, ok := programs[filepath.Base(os.Args[0])]; !ok { // the program has the umask that it is started with
		unix.Umask(0o022) // a gateway refuses directories that everybody may write
	}
	testscript.Main(m, programs)
}
