package api

import (
	"errors"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/params"
	"github.com/lockgw/lockgw/session"
)

// endpoint answers a request, or returns the error to answer it with. It must
// not have written anything then.
type endpoint func(c *gin.Context) error

func (h *Handler) answer(do endpoint) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := do(c); err != nil {
			h.refuse(c.Writer, c.Request, withLock(err, c.Request))
		}
	}
}

// bare is do for a request that has no parameters.
func bare(do endpoint) endpoint {
	return func(c *gin.Context) error {
		if err := params.None(c.Request); err != nil {
			return err
		}
		return do(c)
	}
}

// recover turns a panic of an endpoint into an answer. If a part of the answer was already
// sent it cuts the connection, so that the client does not take that part for the whole.
func (h *Handler) recover(c *gin.Context) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(v)
		}
		h.Log.ErrorContext(c.Request.Context(), "request panicked", "route", c.FullPath(), "request_id", requestID(c.Writer),
			"panic", v, "stack", string(debug.Stack()))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler)
		}
		writeProblem(c.Writer, newProblem(session.CodeInternal, internalDetail))
	}()
	c.Next()
}

// lockName is the name in the path.
func lockName(c *gin.Context) (string, error) {
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil {
		return "", session.Invalid("name", "%v", err)
	}
	return name, session.CheckName(name)
}

// lockQuery is the name in the path; the parameters are read from the query into p.
func lockQuery(c *gin.Context, p any) (string, error) {
	name, err := lockName(c)
	if err != nil {
		return "", err
	}
	return name, params.Query(c.Request, p)
}

// withLock adds the lock that the path names to an error that names none. Of a request that
// is not let in the router knows nothing.
func withLock(err error, r *http.Request) error {
	p := problemOf(err)
	rest, of := strings.CutPrefix(r.URL.EscapedPath(), "/v1/locks/")
	part, _, _ := strings.Cut(rest, "/")
	if name, err := url.PathUnescape(part); of && err == nil && p.Code != codeNotFound && p.Lock == "" && session.CheckName(name) == nil {
		p.Lock = name
	}
	return p
}

func noRoute(c *gin.Context) error {
	if c.Request.URL.EscapedPath() == "/v1/locks/" {
		return session.CheckName("")
	}
	return refusal(codeNotFound, "there is no %s; a lock name is one part of the path, with / written as %%2F",
		session.Quote(c.Request.URL.EscapedPath()))
}

// noMethod says what is possible. The router's own Allow may have methods of routes that
// only begin like the path.
func (h *Handler) noMethod(c *gin.Context) error {
	c.Writer.Header().Set("Allow", strings.Join(h.methods(c.Request.URL.EscapedPath()), ", "))
	return refusal(codeMethodNotAllowed, "%s is not possible here; the Allow header says what is", session.Quote(c.Request.Method))
}

// methods are the methods of the route that path leads to. If several routes match, the one
// that names more parts of the path counts.
func (h *Handler) methods(path string) (all []string) {
	best := -1
	for _, r := range h.engine.Routes() {
		switch named := matches(r.Path, path); {
		case named < 0 || named < best:
		case named > best:
			best, all = named, []string{r.Method}
		default:
			all = append(all, r.Method)
		}
	}
	slices.Sort(all)
	return all
}

// matches is how many parts of a path the route names, -1 if it is another's.
func matches(route, path string) (named int) {
	parts, got := strings.Split(route, "/"), strings.Split(path, "/")
	if len(parts) != len(got) {
		return -1
	}
	for i, part := range parts {
		switch {
		case part == got[i]:
			named++
		case !strings.HasPrefix(part, ":") || got[i] == "":
			return -1
		}
	}
	return named
}
