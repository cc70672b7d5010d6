package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockgw/lockgw/backend"
)

// encode writes an argument as PostgreSQL reads it as text.
func encode(a any) []byte {
	switch a := a.(type) {
	case string:
		return []byte(a)
	case bool:
		return []byte(strconv.FormatBool(a))
	case int:
		return strconv.AppendInt(nil, int64(a), 10)
	case int64:
		return strconv.AppendInt(nil, a, 10)
	case float64:
		return strconv.AppendFloat(nil, a, 'f', -1, 64)
	case []int64:
		return array(a, func(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) })
	case []bool:
		return array(a, strconv.AppendBool)
	case []string:
		return array(a, func(b []byte, s string) []byte {
			return append(append(append(b, '"'), quoting.Replace(s)...), '"')
		})
	default:
		panic(fmt.Sprintf("postgres: no text form of %T", a)) // a defect in this package
	}
}

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func array[T any](all []T, one func([]byte, T) []byte) []byte {
	b := []byte{'{'}
	for i, v := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, v)
	}
	return append(b, '}')
}

// rows are what a statement tells, as text; nil is NULL.
type rows [][][]byte

// reader reads the columns of one row, and remembers the first that it could not read.
type reader struct {
	row [][]byte
	at  int
	err error
}

func (r *reader) next() []byte {
	if r.at >= len(r.row) {
		r.fail("a column more", nil)
		return nil
	}
	r.at++
	return r.row[r.at-1]
}

func (r *reader) fail(what string, text []byte) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: PostgreSQL has told %q in column %d, and not %s", backend.ErrUnavailable, text, r.at, what)
	}
}

func (r *reader) text() string { return string(r.next()) }

func (r *reader) bool() bool {
	b := r.next()
	if len(b) != 1 {
		r.fail("whether something is so", b)
		return false
	}
	return b[0] == 't'
}

// number; ok: it is not NULL.
func (r *reader) number() (n int64, ok bool) {
	b := r.next()
	if b == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		r.fail("a number", b)
	}
	return n, true
}

func (r *reader) float() float64 {
	b := r.next()
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		r.fail("a number", b)
	}
	return f
}

func (r *reader) numbers() (all []int64) {
	b := r.next()
	inner := strings.TrimSuffix(strings.TrimPrefix(string(b), "{"), "}")
	if inner == "" {
		return nil
	}
	for one := range strings.SplitSeq(inner, ",") {
		n, err := strconv.ParseInt(one, 10, 64)
		if err != nil {
			r.fail("numbers", b)
			return nil
		}
		all = append(all, n)
	}
	return all
}
