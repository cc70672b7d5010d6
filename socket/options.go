package socket

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lockgw/lockgw/session"
)

// options reads the words that follow the fixed arguments of a command, each at
// most once and some with a value. After the first error next returns false.
type options struct {
	args []string
	word string
	seen [16]string // more than any command has
	n    int
	err  error
}

// ofLock are the options of a command about the lock that args names first.
func ofLock(args []string) options { return options{args: args[2:], err: session.CheckName(args[1])} }

// next goes to the next option.
func (o *options) next() bool {
	if o.err != nil || len(o.args) == 0 {
		return false
	}
	o.word, o.args = o.args[0], o.args[1:]
	for _, earlier := range o.seen[:o.n] {
		if strings.EqualFold(earlier, o.word) {
			o.fail("is given twice")
			return false
		}
	}
	o.seen[o.n] = o.word
	o.n++
	return true
}

// is tells whether the option is word.
func (o *options) is(word string) bool { return strings.EqualFold(o.word, word) }

// unknown refuses the option.
func (o *options) unknown() {
	if o.err == nil {
		o.err = session.Invalid("option", "%s is not known here", session.Quote(o.word))
	}
}

func (o *options) fail(format string, args ...any) {
	if o.err == nil {
		o.err = session.Invalid(strings.ToLower(cut(o.word, 64)), format, args...)
	}
}

// value is the argument after the option.
func (o *options) value() string {
	if len(o.args) == 0 {
		o.fail("needs a value")
		return ""
	}
	v := o.args[0]
	o.args = o.args[1:]
	return v
}

// seconds is a value that may have a fraction.
func (o *options) seconds() time.Duration {
	v := o.value()
	if o.err != nil {
		return 0
	}
	d, err := session.ParseSeconds(v)
	if err != nil {
		o.fail("%v", err)
	}
	return d
}

// span is a value in seconds of which 0 makes no sense.
func (o *options) span() time.Duration {
	d := o.seconds()
	if o.err == nil && d == 0 {
		o.fail("must be longer than 0")
	}
	return d
}

// number is a decimal from 1 on.
func (o *options) number(most int64) int64 { return o.decimal(1, most) }

func (o *options) decimal(least, most int64) int64 {
	v := o.value()
	if o.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || strings.Trim(v, "0123456789") != "" || n < least || n > most {
		o.fail("must be a decimal from %d to %d, not %s", least, most, session.Quote(v))
	}
	return n
}

// text is a line for people that cannot play tricks on a terminal.
func (o *options) text() string {
	v := o.value()
	switch {
	case !utf8.ValidString(v):
		o.fail("is not valid UTF-8")
	case strings.ContainsFunc(v, tricky):
		o.fail("must not contain control characters")
	}
	return v
}

func tricky(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// id is a request id.
func (o *options) id() string {
	const most = 64
	v := o.value()
	if len(v) == 0 || len(v) > most || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' }) {
		o.fail("must be 1 to %d visible ASCII characters", most)
	}
	return v
}

// process is pid:N.
func (o *options) process() int {
	v := o.value()
	if o.err != nil {
		return 0
	}
	digits, ok := strings.CutPrefix(v, "pid:")
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || !ok || n <= 0 {
		o.fail("must be pid: and a process id, as in pid:4711")
		return 0
	}
	return int(n)
}
