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

// ParseDuration reads a duration as users write it: 30s, 2m, 1h30m, 7d, or a bare
// number of seconds, which may have a fraction. Negative ones are refused, and those of
// more than 146 years.
func ParseDuration(s string) (time.Duration, error) {
	if isDecimal(s) {
		return ParseSeconds(s)
	}
	days, rest := cutDays(s)
	d, err := time.ParseDuration(rest)
	switch {
	case err != nil, strings.HasPrefix(rest, "+"):
		return 0, fmt.Errorf("%s is no duration such as 30s, 1h30m, 7d or a number of seconds", Quote(s))
	case d < 0:
		return 0, errors.New("must not be negative")
	case d > longest-days:
		return 0, fmt.Errorf("%s is too long", Quote(s))
	}
	return days + d, nil
}

// cutDays takes the days from the beginning of s; the library has no word for them.
func cutDays(s string) (days time.Duration, rest string) {
	n, after, ok := strings.Cut(s, "d")
	if !ok || !digits(n) {
		return 0, s
	}
	const day = 24 * time.Hour
	count, err := strconv.ParseInt(n, 10, 32)
	if err != nil || time.Duration(count) > longest/day {
		return longest, "1ns"
	}
	days = time.Duration(count) * day
	if after == "" {
		after = "0s"
	}
	return days, after
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
