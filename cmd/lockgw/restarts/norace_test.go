//go:build !race

package restarts

var buildFlags []string
