package api

import (
	"testing"

	"github.com/lockgw/lockgw/session"
)

// Every code of the core has a status.
func TestCodesOfTheCore(t *testing.T) {
	for _, c := range session.Codes() {
		if _, ok := codes[c]; !ok {
			t.Errorf("%s has no status in errors.go", c)
		}
	}
}

func TestStatusOfCodes(t *testing.T) {
	for status, cs := range map[int][]session.Code{
		400: {"invalid"},
		401: {"no_session", "session_ended"},
		403: {"not_owner", "forbidden", "cross_origin"},
		404: {"not_found"},
		405: {"method_not_allowed"},
		409: {"conflict"},
		410: {"lost"},
		412: {"fence_mismatch"},
		413: {"too_large"},
		415: {"unsupported_media_type"},
		421: {"host_not_allowed"},
		423: {"locked", "wait_timeout"},
		429: {"too_many_waiters", "too_many_sessions", "rate_limited"},
		500: {"internal"},
		501: {"unsupported"},
		503: {"unavailable", "outcome_unknown", "draining"},
	} {
		for _, c := range cs {
			if got := codes[c].status; got != status {
				t.Errorf("status of %s = %d, want %d", c, got, status)
			}
		}
	}
}

// A code that nobody has told this package of is a defect, not a 0.
func TestUnknownCode(t *testing.T) {
	p := newProblem("brand_new", "something")
	if p.Status != 500 || p.Code != session.CodeInternal {
		t.Errorf("status, code = %d, %s, want 500, %s", p.Status, p.Code, session.CodeInternal)
	}
}
