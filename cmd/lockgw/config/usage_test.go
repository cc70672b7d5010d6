package config

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every key is in one group of the help, and the lines can be read on a terminal.
func TestUsageHasEveryKey(t *testing.T) {
	cmd := &cobra.Command{Use: "serve", Example: "  serve --backend-url x", Run: func(*cobra.Command, []string) {}}
	AddFlags(cmd)
	var out bytes.Buffer
	cmd.SetOut(&out)
	if err := cmd.Usage(); err != nil {
		t.Fatal(err)
	}
	for _, f := range fields() {
		if n := strings.Count(out.String(), "  --"+f.flag()+" "); n != 1 {
			t.Errorf("the help names --%s %d times, want once", f.flag(), n)
		}
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > usageWidth+30 { // a word is not cut
			t.Errorf("a line of the help has %d characters: %s", len(line), line)
		}
	}
	if !strings.Contains(out.String(), "Examples:") {
		t.Error("the help has no examples")
	}
}
