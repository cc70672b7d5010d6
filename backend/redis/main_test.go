package redis_test

import (
	"os"
	"testing"

	"github.com/lockgw/lockgw/backend/servertest"
)

// Most tests here wait for a Redis to let time pass, more than one to a processor.
func TestMain(m *testing.M) {
	servertest.Parallel(2)
	os.Exit(m.Run())
}
