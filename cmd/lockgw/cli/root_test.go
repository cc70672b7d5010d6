package cli

import (
	"errors"
	"os"
	"testing"

	"github.com/spf13/cobra"
)

// What went wrong is said in its own lines, without what controls a terminal: others have chosen
// names, notes and owners that are told of.
func TestRunSaysWhatWentWrong(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stderr := os.Stderr
	os.Stderr = w
	code := Run(&cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
		return Exit(ExitRefused, errors.New("held by \x1b[2Jü\nfor long"))
	}})
	os.Stderr = stderr
	w.Close()
	got := make([]byte, 100)
	n, _ := r.Read(got)
	if want := "lockgw: held by ?[2Jü\nfor long\n"; string(got[:n]) != want || code != ExitRefused {
		t.Errorf("%q and exit code %d, want %q and %d", got[:n], code, want, ExitRefused)
	}
}

// What is wrong with a value or a command is said in words of this program.
func TestUsageInWords(t *testing.T) {
	for want, args := range map[string][]string{
		`invalid argument "x" for "--callers" flag: must be a whole number; see ` + "`lockgw go --help`":               {"go", "--callers", "x"},
		`invalid argument "9999999999999999999" for "--callers" flag: is out of range; see ` + "`lockgw go --help`":    {"go", "--callers", "9999999999999999999"},
		`invalid argument "x" for "-v, --version" flag: must be true or false; see ` + "`lockgw --help`":               {"--version=x"},
		`leave out the -- before the command go; see ` + "`lockgw --help`":                                             {"--", "go"},
		`unknown command "og", did you mean "go"?; see ` + "`lockgw --help`":                                           {"og"},
		"environment variable LOCKGW_CALLERS: invalid argument \"1.5\" for \"--callers\" flag: must be a whole number": {"go"},
	} {
		root := NewRoot()
		c := &cobra.Command{Use: "go", RunE: func(*cobra.Command, []string) error { return nil }}
		c.Flags().Int("callers", 1, "")
		root.AddCommand(c)
		root.SetArgs(args)
		t.Setenv("LOCKGW_CALLERS", "1.5")
		if code, got := ExitCode(root.Execute()); code != ExitUsage || got != want {
			t.Errorf("%q: %d, %q, want %d, %q", args, code, got, ExitUsage, want)
		}
	}
}
