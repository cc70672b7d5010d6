package config

import (
	"fmt"
	"strconv"
	"strings"
)

// ByteSize is how much of something there may be, in bytes.
type ByteSize int64

var sizeUnits = []struct {
	name  string
	bytes ByteSize
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}, {"", 1}}

// UnmarshalText reads 64MiB, 512KiB, 1GiB or a bare number of bytes.
func (b *ByteSize) UnmarshalText(text []byte) error {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(string(text), u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil && u.bytes == 1 {
			n, err = strconv.ParseUint(digits, 10, 48)
		}
		if err != nil {
			break
		}
		*b = ByteSize(n) * u.bytes
		return nil
	}
	return fmt.Errorf("%q is no size such as 64MiB, 512KiB, 1GiB or a number of bytes", text)
}

// String is the shortest text that UnmarshalText reads as b.
func (b ByteSize) String() string {
	for _, u := range sizeUnits {
		if b != 0 && b%u.bytes == 0 && u.bytes > 1 {
			return fmt.Sprint(int64(b/u.bytes)) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}
