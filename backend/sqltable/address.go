package sqltable

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// ConnectTimeout bounds how long one host is tried, unless the address says otherwise.
	ConnectTimeout = 2 * time.Second

	usualConns = 8
	mostConns  = 1000
)

// Parameters are what follows the ? of an address.
type Parameters struct {
	url.Values
	of string
}

// ParseParameters reads those of the address of a database; known are those that there are.
func ParseParameters(of, query string, known []string) (Parameters, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return Parameters{}, fmt.Errorf("%s address: what follows the ? has to be name=value, joined by &, with special characters percent-encoded", of)
	}
	for name := range values {
		if !slices.Contains(known, name) {
			return Parameters{}, fmt.Errorf("%s address: unknown parameter %q; there are %s", of, name, strings.Join(known, ", "))
		}
	}
	return Parameters{values, of}, nil
}

// Number reads one from 1 to most.
func (p Parameters) Number(name string, usual, most int) (int, error) {
	text := p.Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s address: %s has to be a number from 1 to %d", p.of, name, most)
	}
	return n, nil
}

// Conns is how many connections there may be for requests.
func (p Parameters) Conns() (int, error) { return p.Number("pool_max_conns", usualConns, mostConns) }
