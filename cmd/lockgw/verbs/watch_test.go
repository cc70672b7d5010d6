package verbs

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

func TestWatchFormats(t *testing.T) {
	const (
		lost    = `{"id":"1-2","event":"lost","time":"2026-11-20T02:00:00.25Z","lock":"nightly","owner":"u:1","thread":1,"fence":17,"reason":"broken"}`
		held    = `{"event":"acquired","time":"2026-11-20T02:00:00Z","lock":"nightly","owner":"u:1","fence":17,"holder":{"owner":"u:1","node":"host-a","pid":4411,"command":"backup.sh"}}`
		queued  = `{"event":"queued","time":"2026-11-20T02:00:00Z","lock":"a\u202eb","owner":"u:1"}`
		renewed = `{"event":"renewed","time":"2026-11-20T02:00:00Z","lock":"nightly","fence":17}`
	)
	for _, tt := range []struct {
		format, payload, want string
		renewals              bool
	}{
		{"table", lost, "lost       nightly                   17                u:1 (broken)", false},
		{"table", held, "acquired   nightly                   17                host-a pid 4411 (backup.sh)", false},
		{"wide", lost, ".250  lost       nightly", false},
		{"json", lost, lost, false},
		{"name", lost, "nightly", false},
		{"table", queued, "queued     a?b                       -                 u:1", false}, // nobody turns the line round
		{"table", renewed, "", false},
		{"json", renewed, "", false},
		{"json", renewed, renewed, true},
	} {
		var out strings.Builder
		o := watchOptions{out: cli.Output{Format: tt.format}, renewals: tt.renewals}
		if err := o.tell(&out, tt.payload); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.HasSuffix(got, tt.want+"\n") && !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s of %s = %q, want %q", tt.format, tt.payload, got, tt.want)
		}
	}
	o := watchOptions{out: cli.Output{Format: "table"}}
	if err := o.tell(&strings.Builder{}, "{"); err == nil {
		t.Error("half an event is no error, want one")
	}
}
