package cli

import (
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// IsTerminal tells whether somebody sees what is written to w.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// IsScreen tells whether w is a terminal that can do more than write one line after the other, as
// the shell in an editor cannot.
func IsScreen(w any) bool { return IsTerminal(w) && !IsDumb() }

// IsDumb tells whether the terminal takes no commands.
func IsDumb() bool { return os.Getenv("TERM") == "dumb" }

// NoStdout tells whether this process has no stdout, as after >&-. Go opens /dev/null in its
// place, for reading, too; whoever throws the output away with >/dev/null opens it for writing.
// One that the caller opened for both, as Python's subprocess.DEVNULL and a daemon do, cannot be
// told from Go's: the kernel says the same of the two, and no code of ours runs before Go's.
func NoStdout() bool {
	var out, null unix.Stat_t
	flags, err := unix.FcntlInt(uintptr(unix.Stdout), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR || unix.Fstat(unix.Stdout, &out) != nil || unix.Stat(os.DevNull, &null) != nil {
		return false
	}
	return out.Mode&unix.S_IFMT == unix.S_IFCHR && out.Rdev == null.Rdev
}

// Width is that of the terminal w, and 80 where there is none.
func Width(w any) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// Cut shortens text to what fits into a line of a terminal.
func Cut(text string, columns int) string {
	runes := []rune(text)
	if len(runes) < columns {
		return text
	}
	return string(runes[:max(0, columns-1)])
}
