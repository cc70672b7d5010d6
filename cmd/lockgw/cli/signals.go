package cli

import (
	"os"
	"os/signal"
)

// Notify passes signals on to c. It leaves out those that were ignored when this process
// started, such as SIGHUP under nohup.
func Notify(c chan<- os.Signal, all ...os.Signal) {
	for _, s := range all {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}
