// Package check has tests alone: that the documentation says what is so. Every
// command in its pages is run, and every link leads somewhere.
//
// go generate makes the pages in docs/reference from the code; tests beside that
// code fail when a page is not what the code says.
package check

//go:generate go test ../../cmd/lockgw -count=1 -run ^TestReferencePage$ -update
//go:generate go test ../../api/web -count=1 -run ^TestReferencePage$ -update
//go:generate go test ../../socket -count=1 -run ^TestReferencePage$ -update
//go:generate go test ../../cmd/lockgw/config -count=1 -run ^TestConfigurationPage$ -update
