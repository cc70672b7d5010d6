package verbs

import (
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// A hold that was cut off has no time, which is not the same as a hold of no time.
func TestHistoryOfWhatWasCutOff(t *testing.T) {
	at := time.Now().Add(-time.Hour)
	o := historyOptions{out: cli.Output{Format: "table"}}
	for outcome, held := range map[string]string{"unknown": "-", "released": "0s"} {
		var out strings.Builder
		h := lockHistory{Items: []attempt{{person: person{Owner: "o:1"}, Asked: at, WaitedMS: 60_000, Granted: at.Add(time.Minute), Outcome: outcome}}}
		if err := o.write(&out, &h); err != nil {
			t.Fatal(err)
		}
		row := strings.Fields(strings.Split(out.String(), "\n")[1])
		if want := []string{"1m", held, outcome}; strings.Join(row[2:5], " ") != strings.Join(want, " ") {
			t.Errorf("the row is %q, want %q after the time", row, want)
		}
	}
}
