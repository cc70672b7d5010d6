package cli

import (
	"os"
	"os/signal"
)

// Notify passes signals on to c. It leaves out SIGHUP and SIGINT if they were ignored when this
// process started, as under nohup. Go does not tell that of others.
func Notify(c chan<- os.Signal, all ...os.Signal) {
	for _, s := range all {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}
