package cli

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

func TestReadAdminToken(t *testing.T) {
	const good = "a-secret-of-more-than-16"
	for _, tt := range []struct{ text, want string }{
		{"", "is empty"},
		{" \n", "is empty"},
		{"sesame\n", "holds 6 characters, an admin token needs at least 16"},
		{good + " " + good, "more than one word"},
		{strings.Repeat("x", 1<<20+1), "is longer than"},
	} {
		if token, err := ReadAdminToken(e2e.SecretFile(t, tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: %q, %v; want an error with %q", tt.text, token, err, tt.want)
		} else if strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q: the error %q tells the token", tt.text, err)
		}
	}
	if token, err := ReadAdminToken(e2e.SecretFile(t, "\n"+good+"\n")); token != good || err != nil {
		t.Errorf("token = %q, %v; want %q", token, err, good)
	}
	if token, err := ReadAdminToken(""); token != "" || err != nil {
		t.Errorf("without a file: %q, %v; want no token", token, err)
	}
}
