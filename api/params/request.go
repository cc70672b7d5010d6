// Package params reads the parameters of a request, in its query, its JSON body or
// both, into a struct whose fields say by their types what may be sent.
//
// It is strict: what is unknown, there twice, of the wrong kind or out of its range
// is refused, and the error names the parameter and says what it has to be.
package params

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/lockgw/lockgw/session"
)

// Query reads a request whose parameters are in its query alone into the struct that
// dst points to. A field takes the parameter that its tag `param` names; its type is
// one of this package or has a method Read. A field of which nothing is sent stays as
// it is. session.CodeInvalid.
func Query(r *http.Request, dst any) error {
	if r.ContentLength != 0 {
		return session.Invalid("body", "this request takes none; its parameters belong into the query")
	}
	sent, err := inQuery(r)
	if err != nil {
		return err
	}
	return sent.read(dst)
}

// None refuses a request that has parameters.
func None(r *http.Request) error { return Query(r, &struct{}{}) }

// QueryOrBody is Query for a request whose parameters may be in its JSON body too,
// some here and some there. It returns all that was sent.
func QueryOrBody(r *http.Request, dst any) (Params, error) {
	sent, err := inQuery(r)
	if err != nil {
		return nil, err
	}
	members, err := inBody(r)
	if err != nil {
		return nil, err
	}
	for _, p := range members {
		if sent.Has(p.name) {
			return nil, session.Invalid(p.name, "is in the query and in the body")
		}
	}
	sent = append(sent, members...)
	return sent, sent.read(dst)
}

// Body is Query for a request whose parameters are in its JSON body alone.
func Body(r *http.Request, dst any) error {
	if sent, err := inQuery(r); err != nil {
		return err
	} else if len(sent) > 0 {
		return session.Invalid(short(sent[0].name), "belongs in the JSON body, not in the query")
	}
	sent, err := inBody(r)
	if err != nil {
		return err
	}
	return sent.read(dst)
}

func inQuery(r *http.Request) (Params, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, session.Invalid("query", "%v", err)
	}
	var ps Params
	for name, values := range q {
		if len(values) > 1 {
			return nil, session.Invalid(short(name), "is in the query more than once")
		}
		ps = append(ps, param{name, Value{kind: kindQuery, text: values[0]}})
	}
	slices.SortFunc(ps, func(a, b param) int { return strings.Compare(a.name, b.name) }) // the same error each time
	return ps, nil
}

// A reader takes a parameter's value, or says what is wrong with it.
type reader interface{ Read(v Value) error }

// read reads ps into the struct that dst points to.
func (ps Params) read(dst any) error {
	into := reflect.ValueOf(dst).Elem()
	fields := fieldsOf(into.Type())
	for _, p := range ps {
		index, ok := fields[p.name]
		if !ok {
			return session.Invalid(short(p.name), "is not known here; known are %s", fields)
		}
		if err := into.FieldByIndex(index).Addr().Interface().(reader).Read(p.value); err != nil {
			return session.Invalid(p.name, "%v", err)
		}
	}
	return nil
}

// fields of a struct, by the names of their parameters.
type fields map[string][]int

var known sync.Map // fields by the type of their struct

func fieldsOf(t reflect.Type) fields {
	if f, ok := known.Load(t); ok {
		return f.(fields)
	}
	f := fields{}
	for _, field := range reflect.VisibleFields(t) {
		if name := field.Tag.Get("param"); name != "" {
			f[name] = field.Index
		}
	}
	known.Store(t, f)
	return f
}

// String lists the names.
func (f fields) String() string {
	return cmp.Or(strings.Join(slices.Sorted(maps.Keys(f)), ", "), "none")
}

// short is a name that somebody sent, fit to be shown.
func short(name string) string {
	if len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return session.Quote(name)
	}
	return name
}
