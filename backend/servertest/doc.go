// Package servertest is what tests that start real servers of any kind have in common: a
// process that ends with the test, or stands still, a disk that becomes full, certificates.
package servertest
