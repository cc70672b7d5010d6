package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/lockgw/lockgw/session"
)

// fields are the parameters that an endpoint takes: how each is read, by its name
// in the query and in the JSON body.
type fields map[string]setter

// query reads a request whose parameters are in its query alone.
func (f fields) query(r *http.Request) error {
	if r.ContentLength != 0 {
		return session.Invalid("body", "this request takes none; its parameters belong into the query")
	}
	ps, err := queryParams(r)
	if err != nil {
		return err
	}
	return f.set(ps)
}

// queryOrBody reads a request whose parameters are in its query, its JSON body,
// or some here and some there.
func (f fields) queryOrBody(r *http.Request) (params, error) {
	ps, err := queryParams(r)
	if err != nil {
		return nil, err
	}
	inBody, err := bodyParams(r)
	if err != nil {
		return nil, err
	}
	for _, p := range inBody {
		if ps.has(p.name) {
			return nil, session.Invalid(p.name, "is in the query and in the body")
		}
	}
	ps = append(ps, inBody...)
	return ps, f.set(ps)
}

// body reads a request whose parameters are in its JSON body alone.
func (f fields) body(r *http.Request) error {
	if ps, err := queryParams(r); err != nil {
		return err
	} else if len(ps) > 0 {
		return session.Invalid(short(ps[0].name), "belongs into the JSON body, not into the query")
	}
	ps, err := bodyParams(r)
	if err != nil {
		return err
	}
	return f.set(ps)
}

func (f fields) set(ps params) error {
	for _, p := range ps {
		set, ok := f[p.name]
		if !ok {
			return session.Invalid(short(p.name), "is not known here; known are %s", f)
		}
		if err := set(p.value); err != nil {
			return session.Invalid(p.name, "%v", err)
		}
	}
	return nil
}

// String lists the names.
func (f fields) String() string {
	if len(f) == 0 {
		return "none"
	}
	names := make([]string, 0, len(f))
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func queryParams(r *http.Request) (params, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, session.Invalid("query", "%v", err)
	}
	var ps params
	for name, values := range q {
		if len(values) > 1 {
			return nil, session.Invalid(short(name), "is in the query more than once")
		}
		ps = append(ps, param{name, value{kind: kindQuery, text: values[0]}})
	}
	slices.SortFunc(ps, func(a, b param) int { return strings.Compare(a.name, b.name) }) // the same error each time
	return ps, nil
}

// short is a name that somebody sent, fit to be shown.
func short(name string) string {
	if len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return quote(name)
	}
	return name
}
