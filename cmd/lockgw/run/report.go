package run

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// report is what `lockgw run` says on stderr while its command runs: text, or
// JSON with --json. On a terminal the wait is one line that is written again and
// again.
type report struct {
	quiet, json, live bool
	conflictCode      int       // of -E
	screen            io.Writer // where what is written to w can be seen

	mu   sync.Mutex // guards the fields below
	w    io.Writer
	open bool // the cursor stands in the line of the wait
}

// event is a line of --json.
type event struct {
	Time      time.Time      `json:"time"`
	Event     string         `json:"event"`
	Lock      string         `json:"lock,omitempty"`
	Fence     uint64         `json:"fence,omitempty"`
	Holder    *client.Holder `json:"holder,omitempty"`
	Position  int            `json:"position,omitempty"`
	Of        int            `json:"of,omitempty"`
	GivesUpMS int64          `json:"gives_up_in_ms,omitempty"`
	WaitedMS  int64          `json:"waited_ms,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Signal    string         `json:"signal,omitempty"`
	Error     string         `json:"error,omitempty"`
	Code      int            `json:"code,omitempty"`
}

// importance of a message: -q silences what is only information.
type importance bool

const (
	may  importance = false
	must importance = true
)

// newReport reports on screen. Call flush at the end, when no lock waits for that.
func newReport(screen io.Writer, o *options) (r *report, flush func()) {
	w := cli.NewPatient(screen)
	live := !o.json && cli.IsScreen(screen)
	return &report{quiet: o.quiet, json: o.json, conflictCode: o.conflictCode, live: live, screen: screen, w: w}, func() { <-w.Written() }
}

// say writes a message of its own line.
func (r *report) say(i importance, e event, format string, args ...any) {
	if r.quiet && i == may {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endLineLocked()
	if r.json {
		r.writeJSON(e)
		return
	}
	fmt.Fprintf(r.w, "lockgw: "+format+"\n", args...)
}

func (r *report) writeJSON(e event) {
	e.Time = time.Now()
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // a defect in event
	}
	fmt.Fprintf(r.w, "%s\n", line)
}

// waiting tells how the wait goes, on a terminal in one line.
func (r *report) waiting(e event, text func(columns int) string) {
	if !r.live || r.quiet {
		r.say(may, e, "%s", text(0))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	columns := cli.Width(r.screen)
	fmt.Fprintf(r.w, "\r\x1b[K%s", cli.Cut(text(columns), columns))
	r.open = true
}

// endWait removes the line of the wait.
func (r *report) endWait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endLineLocked()
}

func (r *report) endLineLocked() {
	if r.open {
		fmt.Fprint(r.w, "\r\x1b[K")
		r.open = false
	}
}

// failed says why nothing was run, or why the command ended, as text or JSON. It returns an
// error with the exit code alone, so that nothing is said twice.
func (r *report) failed(err error) error {
	code, message := cli.ExitCode(err)
	if message == "" {
		return err
	}
	i := must
	if code == cli.ExitNotAcquired || code == r.conflictCode {
		i = may // who asks for quiet reads the exit code
	}
	r.say(i, event{Event: "failed", Error: message, Code: code}, "%s", message)
	return cli.Exit(code, nil)
}
