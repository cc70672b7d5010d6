//go:build !race

package history_test

var buildFlags []string
