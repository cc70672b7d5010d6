package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// release is the version of a released build, set by the linker.
var release string

// Version is that of this program, or what the Go tools know of it.
func Version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// WriteVersion writes the version, as JSON if that is the format.
func WriteVersion(w io.Writer, format string) error {
	return WriteResult(w, format, map[string]string{"version": Version(), "go": runtime.Version()}, fmt.Sprintf("lockgw %s %s", Version(), runtime.Version()))
}
