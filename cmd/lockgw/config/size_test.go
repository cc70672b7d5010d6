package config

import "testing"

func TestByteSize(t *testing.T) {
	for text, want := range map[string]ByteSize{
		"64MiB": 64 << 20, "512KiB": 512 << 10, "1GiB": 1 << 30, "0": 0, "1000": 1000, "7B": 7, "65536": 64 << 10,
	} {
		var b, again ByteSize
		if err := b.UnmarshalText([]byte(text)); err != nil || b != want {
			t.Errorf("%s = %d, %v; want %d", text, b, err, want)
		}
		if err := again.UnmarshalText([]byte(b.String())); err != nil || again != b {
			t.Errorf("%d is written as %s, which is %d, %v", b, b, again, err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5GiB", "64MB", "1 MiB", "99999999999999999999", "9999999999GiB"} {
		var b ByteSize
		if err := b.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %d", text, b)
		}
	}
}
