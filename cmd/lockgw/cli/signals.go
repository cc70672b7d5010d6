package cli

import (
	"os"
	"os/signal"
	"time"
)

// SameSignal is how soon after a signal the next one is the same: timeout(1) sends its signal to
// the process and, after that, to the group which that is in.
const SameSignal = 200 * time.Millisecond

// Notify passes signals on to c. It leaves out SIGHUP and SIGINT if they were ignored when this
// process started, as under nohup. Go does not tell that of others.
func Notify(c chan<- os.Signal, all ...os.Signal) {
	for _, s := range all {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}
