package redis_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// Most tests here wait for a Redis to let time pass, more than one to a processor.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	}
	os.Exit(m.Run())
}
