// Package sqltest is what the tests of all tables over SQL databases do with one: they change
// records, wait until it grants or says why it does not, and look what a sweep leaves.
package sqltest
