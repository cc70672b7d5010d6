//go:build !race

package history_test

import "time"

const slow = time.Second // how late a busy machine may be
