//go:build !linux

package servertest

import "testing"

// SmallDisk skips the test: there is no disk here that can become full.
func SmallDisk(t testing.TB, dir string, size string) {
	t.Helper()
	t.Skip("no disk that can become full but on Linux")
}

// Fill is for a SmallDisk.
func Fill(t testing.TB, dir string, room int64) (free func()) {
	t.Helper()
	t.Fatal("no disk that can become full but on Linux")
	return nil
}
