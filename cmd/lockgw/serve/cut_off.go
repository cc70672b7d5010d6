package serve

import (
	"log/slog"
	"os"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// lastWords is for what comes after shutdown.timeout: to deliver the last telemetry, and to
// close what is open.
const lastWords = deliverTimeout + time.Second

// cutOff ends the process if a stop that begins now is not over when it has to be. A store that
// hangs may hold it up: a request under way lasts for backend.timeout, and connections want to
// be closed. The next process takes up what is left, as after any other end.
func cutOff(timeout time.Duration, log *slog.Logger) {
	time.AfterFunc(timeout+lastWords, func() {
		log.Error("the stop took longer than shutdown.timeout and is cut off; what is held stays in the store for the next process, or until the leases run out", "timeout", timeout)
		os.Exit(cli.ExitFailed) //nolint:forbidigo // main waits for what hangs
	})
}
