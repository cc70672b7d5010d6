package api

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lockgw/lockgw/session"
)

// A setter takes a parameter's value, or says what is wrong with it.
type setter func(v value) error

// duration: a string such as 30s, or a number of seconds.
func duration(d *time.Duration) setter {
	return func(v value) error {
		err := v.must(kindText, kindNumber)
		if err == nil {
			*d, err = session.ParseDuration(v.text)
		}
		return err
	}
}

// positive is a duration of which 0 makes no sense.
func positive(d *time.Duration) setter {
	return func(v value) error {
		err := duration(d)(v)
		if err == nil && *d == 0 {
			return errors.New("must be longer than 0")
		}
		return err
	}
}

func boolean(b *bool) setter {
	return func(v value) error {
		if err := v.must(kindBoolean); err != nil {
			return err
		}
		if v.text != "true" && v.text != "false" {
			return errors.New("must be true or false")
		}
		*b = v.text == "true"
		return nil
	}
}

// integer is a decimal from 1 to most.
func integer(n *int64, most int64) setter {
	return func(v value) error {
		if err := v.must(kindNumber); err != nil {
			return err
		}
		i, err := strconv.ParseInt(v.text, 10, 64)
		if err != nil || i < 1 || i > most || v.text[0] == '+' {
			if most == math.MaxInt64 {
				return errors.New("must be a decimal from 1 on")
			}
			return fmt.Errorf("must be a decimal from 1 to %d", most)
		}
		*n = i
		return nil
	}
}

// line is text that is shown to people: one line of at most so many bytes that
// plays no tricks on a terminal.
func line(s *string, most int) setter {
	return func(v value) error {
		switch err := v.must(kindText); {
		case err != nil:
			return err
		case len(v.text) > most:
			return fmt.Errorf("is %d bytes long, the limit is %d", len(v.text), most)
		case !utf8.ValidString(v.text):
			return errors.New("is not valid UTF-8")
		case strings.ContainsFunc(v.text, tricky):
			return errors.New("must not contain control characters")
		}
		*s = v.text
		return nil
	}
}

func tricky(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// oneOf takes one of some words.
func oneOf(s *string, words ...string) setter {
	return func(v value) error {
		if err := v.must(kindText); err != nil {
			return err
		}
		if !slices.Contains(words, v.text) {
			return fmt.Errorf("must be one of %s", strings.Join(words, ", "))
		}
		*s = v.text
		return nil
	}
}

// not is a boolean whose opposite is kept.
func not(b *bool) setter {
	return func(v value) error {
		err := boolean(b)(v)
		*b = !*b
		return err
	}
}

func mode(shared *bool) setter {
	return func(v value) error {
		var s string
		err := oneOf(&s, "exclusive", "shared")(v)
		*shared = s == "shared"
		return err
	}
}

func limit(n *int) setter {
	return func(v value) error {
		var i int64
		err := integer(&i, math.MaxInt32)(v)
		*n = int(i)
		return err
	}
}

// bind takes pid:N.
func bind(pid *int64) setter {
	return func(v value) error {
		if err := v.must(kindText); err != nil {
			return err
		}
		n, ok := strings.CutPrefix(v.text, "pid:")
		if !ok {
			return errors.New("must be pid: and the number of a process")
		}
		return integer(pid, math.MaxInt32)(value{text: n})
	}
}

// object takes a JSON object with the given members.
func object(f fields) setter {
	return func(v value) error {
		if err := v.must(kindObject); err != nil {
			return err
		}
		return inside(f.set(v.members))
	}
}

// inside is err without the code that its outer field gives it again.
func inside(err error) error {
	var e *session.Error
	if errors.As(err, &e) {
		return errors.New(e.Detail)
	}
	return err
}

// maxMeta is how long the names and values of lines may be together: a session keeps
// them, in the journal too, and there may be very many sessions.
const maxMeta = 4 << 10

// lines takes a JSON object whose members are text for people.
func lines(m *map[string]string) setter {
	return func(v value) error {
		if err := v.must(kindObject); err != nil {
			return err
		}
		*m = make(map[string]string, len(v.members))
		size := 0
		for _, p := range v.members {
			var name, s string
			err := line(&name, session.MaxNote)(value{kind: kindText, text: p.name})
			if err == nil {
				err = line(&s, session.MaxNote)(p.value)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", short(p.name), err)
			}
			(*m)[name] = s
			size += len(name) + len(s)
		}
		if size > maxMeta {
			return fmt.Errorf("is %d bytes long, the limit is %d", size, maxMeta)
		}
		return nil
	}
}
