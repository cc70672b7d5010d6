package serve

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// A signal that comes twice, as timeout(1) sends it, leaves the gateway the time to stop. Without
// that, this test ends here.
func TestSignalThatComesTwice(t *testing.T) {
	s := notifySignals()
	signal := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	signal()
	if err := s.wait(nil); err != nil {
		t.Fatal(err)
	}
	s.stop()
	for began := time.Now(); time.Since(began) < cli.SameSignal/10; time.Sleep(time.Millisecond) {
		signal()
	}
}
