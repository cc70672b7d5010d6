// Package doors has the attacks of one user on another, each as a test: two users of one
// machine, or two machines, with a real gateway between them. docs/security.md lists them.
// The tests need root, as only root can be somebody else.
package doors
