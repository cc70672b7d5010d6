package verbs

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/api/past"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// A hold that was cut off has no time, which is not the same as a hold of no time.
func TestHistoryOfWhatWasCutOff(t *testing.T) {
	at := time.Now().Add(-time.Hour)
	o := historyOptions{out: cli.Output{Format: "table"}}
	for outcome, held := range map[string]string{"unknown": "-", "released": "0s"} {
		var out strings.Builder
		h := past.History{Items: []past.Attempt{{Person: past.Person{Owner: "o:1"}, Asked: at, WaitedMS: 60_000, Granted: at.Add(time.Minute), Outcome: outcome}}}
		if err := o.write(&out, &h); err != nil {
			t.Fatal(err)
		}
		row := strings.Fields(strings.Split(out.String(), "\n")[1])
		if want := []string{"1m", held, outcome}; strings.Join(row[2:5], " ") != strings.Join(want, " ") {
			t.Errorf("the row is %q, want %q after the time", row, want)
		}
	}
}

// A list of locks that leaves some out says so, and how to see them.
func TestContendedSaysWhatIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	ln, err := net.Listen("unix", filepath.Join(dir, cli.HTTPSocket))
	if err != nil {
		t.Fatal(err)
	}
	there := 0
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		fmt.Fprintf(w, `{"items": [%s]}`, strings.TrimSuffix(strings.Repeat(`{"name": "x"},`, min(there, limit)), ","))
	})}
	go func() { _ = server.Serve(ln) }()
	defer server.Close()
	for _, tt := range []struct {
		all           bool
		there, listed int
		told          string
	}{
		{false, 20, 20, ""},
		{false, 21, 20, "history --all"},
		{true, 21, 21, ""},
		{true, 999, 999, ""},
		{true, 1001, 1000, "may be more.*shorter --since"},
	} {
		there = tt.there
		var out, told strings.Builder
		o := historyOptions{Gateway: cli.Gateway{Socket: filepath.Join(dir, cli.RespSocket)}, out: cli.Output{Format: "name"}, since: time.Hour, all: tt.all}
		if err := o.contended(t.Context(), &out, &told); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); n != tt.listed || (told.Len() > 0) != (tt.told != "") || !regexp.MustCompile(tt.told).MatchString(told.String()) {
			t.Errorf("%d locks, all %v: %d listed, told %q; want %d, %q", tt.there, tt.all, n, told.String(), tt.listed, tt.told)
		}
	}
}
