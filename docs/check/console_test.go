package check

import (
	"regexp"
	"strings"
	"testing"
)

// exchange is a command of a console block and what it prints.
type exchange struct{ command, output string }

// exchangesOf splits a console block. A command goes on in the next line after a
// backslash.
func exchangesOf(code string) (all []exchange) {
	more := false
	for line := range strings.Lines(code) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand:
			all = append(all, exchange{command: command})
		case len(all) == 0:
			continue
		case more:
			all[len(all)-1].command += line
		default:
			all[len(all)-1].output += line
		}
		more = (isCommand || more) && strings.HasSuffix(line, "\\\n")
	}
	return all
}

const endOfOutput = "== the next command =="

// checkConsole runs all commands in one shell, so that each finds what those
// before it have set.
func (p *place) checkConsole(t *testing.T, n note, b block) {
	exchanges := exchangesOf(b.code)
	script := p.here(n.before)
	for _, e := range exchanges {
		script += "\n" + p.here(e.command) + "\necho '" + endOfOutput + "'\n"
	}
	out, err := p.run(t, note{}, []string{"bash", p.write(t, "block.console", script)})
	if err != nil {
		t.Errorf("%v; it printed\n%s", err, out)
	}
	parts := strings.Split(out, endOfOutput+"\n")
	for i, e := range exchanges {
		if i >= len(parts) {
			t.Fatalf("$ %s\nwas not run; before it\n%s", e.command, out)
		}
		got, want := parts[i], p.here(e.output)
		if n.times {
			got, want = timeless(got), timeless(want)
		}
		if !looksLike(got, want) {
			t.Errorf("$ %s\nprinted\n%s\nwant\n%s", e.command, parts[i], e.output)
		}
	}
}

var (
	uuidPattern = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	numbers     = regexp.MustCompile(`\d{4,}`)
	pids        = regexp.MustCompile(`\bpid \d+`)
	spaces      = regexp.MustCompile(`[ \t]+`)
)

// plain leaves out what differs from run to run.
func plain(s string) string {
	s = strings.TrimSpace(strings.ReplaceAll(s, "\r", ""))
	s = numbers.ReplaceAllString(pids.ReplaceAllString(uuidPattern.ReplaceAllString(s, "UUID"), "pid NUMBER"), "NUMBER")
	return spaces.ReplaceAllString(s, " ")
}

var (
	moments   = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
	instants  = regexp.MustCompile(`\b(0s|\d{1,3}ms)\b`)
	durations = regexp.MustCompile(`\b(\d+(\.\d+)?(d|h|m|s|ms|µs))+\b`)
)

// timeless has all moments alike, and all durations. What takes less than a second on a slow
// machine takes no time on another, and is shown as "-" or 0s.
func timeless(s string) string {
	return durations.ReplaceAllString(instants.ReplaceAllString(moments.ReplaceAllString(s, "MOMENT"), "-"), "DURATION")
}

// looksLike says whether got is what a page shows, in which "..." stands for
// anything.
func looksLike(got, page string) bool {
	parts := strings.Split(plain(page), "...")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile(`^(?s:` + strings.Join(parts, ".*") + `)$`).MatchString(plain(got))
}

func TestLooksLike(t *testing.T) {
	const page = "held by host-a\npid 4411 (...)\nfence 1795170146911052 75\n"
	for got, want := range map[string]bool{
		"held by  host-a\r\npid 21590 (sh)\nfence 1795170146911099 75": true,
		"held by host-a\npid 7 (sh)\nfence 1795170146911099 75":        true,
		"held by host-a\npid 21590 (sh)\nfence 1795170146911099 69":    false, // a short number counts
		"held by host-b\npid 21590 (sh)\nfence 1795170146911099 75":    false,
		"held by host-a\npid 21590 (sh)\nfence 75":                     false,
		"": false,
	} {
		if looksLike(got, page) != want {
			t.Errorf("looksLike(%q) = %v, want %v", got, !want, want)
		}
	}
}

func TestExchangesOf(t *testing.T) {
	got := exchangesOf("$ a \\\n  b\none\ntwo\n$ c\n")
	want := []exchange{{"a \\\n  b\n", "one\ntwo\n"}, {"c\n", ""}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("exchanges = %q, want %q", got, want)
	}
}
