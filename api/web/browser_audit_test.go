//go:build browser

package web_test

import _ "embed"

// audit is an expression whose value is what is wrong for people who cannot see
// well or use no mouse.
//
//go:embed testdata/audit.js
var audit string
