package servertest

import (
	"flag"
	"runtime"
	"strconv"
)

// Parallel has a TestMain run so many tests to a processor side by side, unless -parallel says
// how many: where they wait for servers to let time pass.
func Parallel(each int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(each*runtime.GOMAXPROCS(0)))
	}
}
