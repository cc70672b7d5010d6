package cli

import (
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
