package check

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// acquires is a command of a shell that gets a lock, or the session for it.
var acquires = regexp.MustCompile(`=\$\(curl |=\$\(lockgw (lock|session new)|curl .*-X PUT .*/v1/locks/`)

// goesOn says what is wrong with a script that goes on without the lock.
func goesOn(b block) (wrong []string) {
	if b.lang != "sh" {
		return nil // in a console somebody looks
	}
	for _, line := range b.commands() {
		if acquires.MatchString(line) && !strings.Contains(line, "|| exit") {
			wrong = append(wrong, line)
		}
	}
	return wrong
}

// A script that is copied from a page ends where it does not get the lock, a program
// gives back what it has got, and a crontab mails nothing every night.
func TestScriptsEndWithoutTheLock(t *testing.T) {
	cron := 0
	for _, page := range pages(t) {
		for _, b := range blocksOf(read(t, page)) {
			for _, line := range goesOn(b) {
				t.Errorf("%s:%d goes on without the lock: %s; end it by || exit 75", page, b.line, line)
			}
			if slices.Contains([]string{"js", "java", "php", "python", "ruby"}, b.lang) && strings.Contains(b.code, "/v1/locks/") &&
				!strings.Contains(b.code, "DELETE") && !strings.Contains(b.code, ".delete") && !strings.Contains(b.code, "bind=pid") {
				t.Errorf("%s:%d takes a lock over HTTP and does not give it back", page, b.line)
			}
			for line := range strings.Lines(b.code) {
				if strings.Contains(b.code, "/etc/cron.d") && strings.Contains(line, "lockgw run") {
					if cron++; !strings.Contains(line, " -q ") {
						t.Errorf("%s:%d: without -q cron mails it from each machine: %s", page, b.line, line)
					}
				}
			}
		}
	}
	if cron == 0 {
		t.Error("no page has a crontab, want one")
	}
}

// What the page of a lock gives to copy does the same.
func TestCopiedCommandsEndWithoutTheLock(t *testing.T) {
	line := regexp.MustCompile("(?m)^.*`T=\\$\\(curl .*$").FindString(read(t, "api/web/files/lock.js"))
	if line == "" || !strings.Contains(line, "|| exit 75`") {
		t.Errorf("api/web/files/lock.js: %q, want a command that ends by || exit 75", line)
	}
}

func TestGoesOn(t *testing.T) {
	for code, want := range map[string]int{
		"T=$(curl -X PUT localhost:7420/v1/locks/a)\n":                            1,
		"T=$(curl -X PUT localhost:7420/v1/locks/a) || exit 75\n":                 0,
		"T=$(lockgw lock a)\nLOCKGW_TOKEN=$T lockgw unlock a\n":                   1,
		"curl -fsS -X PUT \\\n  \"http://lockgw/v1/locks/a?bind=pid:$$\"\necho\n": 1,
		"curl -X POST localhost:7420/v1/locks/a/hold\n":                           0,
	} {
		if got := goesOn(block{lang: "sh", code: code}); len(got) != want {
			t.Errorf("goesOn(%q) = %q, want %d", code, got, want)
		}
	}
}
