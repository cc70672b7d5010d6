package voting

import (
	"reflect"
	"testing"
)

// Whatever a server has as its vote, it is read or refused, and says the same when it is written.
func FuzzVote(f *testing.F) {
	for _, s := range []string{"", "0. 0. 0.", "1.a 1.a 1.a", "3.abcdefghijklm1 2.b 1.c 1.d 0.e", "1 2 3", "18446744073709551616.a 0. 0.", "1.a 1.a 1.a #1769000000000000 #2", "1.a 1.a 1.a #-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseVote(text)
		if err != nil {
			return
		}
		again, err := parseVote(v.String())
		if err != nil || !reflect.DeepEqual(again, v) {
			t.Errorf("%q is %+v, written %q and read as %+v, %v", text, v, v, again, err)
		}
		v.follows(v.first, v.version())
		if len(v.after()) > generations {
			t.Errorf("the past of %q is %v", text, v.after())
		}
	})
}
