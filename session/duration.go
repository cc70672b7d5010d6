package session

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// longest is what a duration may be: 146 years. A moment so far from now can still be
// told on a clock; twice that would lie in the past.
const longest time.Duration = math.MaxInt64 / 2

// ParseDuration reads a duration as users write it: 30s, 2m, 1h30m, or a bare
// number of seconds, which may have a fraction. Negative ones are refused, and those of
// more than 146 years.
func ParseDuration(s string) (time.Duration, error) {
	if isDecimal(s) {
		return ParseSeconds(s)
	}
	d, err := time.ParseDuration(s)
	if err != nil || strings.HasPrefix(s, "+") {
		return 0, fmt.Errorf("%s is no duration such as 30s, 1h30m or a number of seconds", Quote(s))
	}
	if d < 0 {
		return 0, errors.New("must not be negative")
	}
	if d > longest {
		return 0, fmt.Errorf("%s is too long", Quote(s))
	}
	return d, nil
}

// ParseSeconds reads a number of seconds, which may have a fraction: digits and
// one point, no sign, no exponent.
func ParseSeconds(s string) (time.Duration, error) {
	if !isDecimal(s) {
		return 0, fmt.Errorf("%s is no number of seconds", Quote(s))
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f > longest.Seconds() {
		return 0, fmt.Errorf("%s seconds is too long", Quote(s))
	}
	return time.Duration(math.Round(f * float64(time.Second))), nil
}

func isDecimal(s string) bool {
	whole, fraction, point := strings.Cut(s, ".")
	return digits(whole) && (!point || digits(fraction))
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
