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
