package cli

import (
	"os"

	"golang.org/x/term"
)

// IsTerminal tells whether somebody sees what is written to w.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
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
