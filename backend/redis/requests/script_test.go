package requests

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

func TestScriptIsWhatRedisKnows(t *testing.T) {
	client := redistest.Start(t).Client()
	for _, flags := range []string{"", "allow-oom", "no-writes,allow-stale"} {
		s := NewScript(flags, "local function answer() return 42 end", "return answer()")
		sha, err := client.ScriptLoad(t.Context(), s.Source).Result()
		if err != nil || sha != s.sha {
			t.Errorf("flags %q: SCRIPT LOAD = %q, %v, want %q", flags, sha, err, s.sha)
		}
		if got, err := client.EvalSha(t.Context(), s.sha, nil).Int(); got != 42 {
			t.Errorf("flags %q: EVALSHA = %d, %v, want 42", flags, got, err)
		}
	}
}

// Out of memory, only a script that says allow-oom can give something back.
func TestScriptFlagsReachRedis(t *testing.T) {
	client := redistest.Start(t, "--maxmemory", "1").Client()
	const body = "return redis.call('del', KEYS[1])"
	err := client.Eval(t.Context(), NewScript("", "", body).Source, []string{"k"}).Err()
	if err == nil || !strings.HasPrefix(err.Error(), "OOM ") {
		t.Errorf("without flags: err = %v, want OOM", err)
	}
	if err := client.Eval(t.Context(), NewScript("allow-oom", "", body).Source, []string{"k"}).Err(); err != nil {
		t.Errorf("with allow-oom: err = %v, want nil", err)
	}
}
