//go:build planted

package planted

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a bug is put in place of has to stand in the sources, once.
func TestPlantedTexts(t *testing.T) {
	for _, b := range slices.Concat(bugs, lifeBugs, heartBugs, olderBugs, ruleBugs, holdBugs, voteBugs, quorumBugs) {
		src, err := os.ReadFile(filepath.Join("../..", b.file))
		if err != nil {
			t.Errorf("%s: %v", b.name, err)
			continue
		}
		if n := strings.Count(string(src), b.old); n != 1 {
			t.Errorf("%s: in %s what is to be replaced stands %d times, want once:\n%s", b.name, b.file, n, b.old)
		}
	}
}
