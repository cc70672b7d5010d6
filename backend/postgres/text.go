package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockgw/lockgw/backend/sqltable"
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

// numbers reads an array.
func numbers(r *sqltable.Reader) (all []int64) {
	text := r.Text()
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
	if inner == "" {
		return nil
	}
	for one := range strings.SplitSeq(inner, ",") {
		n, err := strconv.ParseInt(one, 10, 64)
		if err != nil {
			r.Fail("numbers", text)
			return nil
		}
		all = append(all, n)
	}
	return all
}
