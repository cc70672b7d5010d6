package api

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/params"
	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

//go:embed openapi.yaml
var openapiYAML []byte

// check is one thing that has to be right before the gateway is ready.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`

	after time.Duration // when it will be right; 0: not known
}

// checkNames are those of h.checks.
var checkNames = []string{"store", "serving", "journal"}

// livez tells that the process answers and that no mutex of a lock is stuck. If one is,
// livez hangs, which a probe takes for a failure. It never asks the store, because a restart
// of the gateway would not bring the store back.
func (h *Handler) livez(c *gin.Context) error {
	h.Manager.Stats()
	writeJSON(c.Writer, http.StatusOK, struct {
		Status string `json:"status"`
	}{"alive"})
	return nil
}

// readyz tells whether a lock can be had here now, and if not why not.
func (h *Handler) readyz(c *gin.Context) error {
	var p struct {
		Verbose params.Flag `param:"verbose"`
		Exclude excluded    `param:"exclude"`
	}
	if err := params.Query(c.Request, &p); err != nil {
		return err
	}
	checks := slices.DeleteFunc(h.checks(c.Request.Context()), func(k check) bool { return slices.Contains(p.Exclude, k.Name) })
	var failed, details = []check{}, []string{}
	for _, k := range checks {
		if !k.OK {
			failed = append(failed, k)
			details = append(details, k.Name+": "+k.Detail)
		}
	}
	shown := slices.DeleteFunc(slices.Clone(checks), func(k check) bool { return k.OK && k.Detail == "" })
	if p.Verbose {
		shown = checks
	}
	if len(failed) == 0 {
		writeJSON(c.Writer, http.StatusOK, struct {
			Status string  `json:"status"`
			Checks []check `json:"checks,omitempty"`
		}{"ready", shown})
		return nil
	}
	refused := newProblem(session.CodeUnavailable, "not ready: "+strings.Join(details, "; "))
	if h.Manager.IsDraining() {
		refused = newProblem(session.CodeDraining, refused.Detail)
	}
	for _, k := range failed {
		if k.after > 0 {
			refused.RetryAfterMS = ceil(k.after, time.Millisecond)
		}
	}
	refused.Checks = shown
	return refused
}

func (h *Handler) checks(ctx context.Context) []check {
	// A gateway that can grant some names is ready. A load balancer that sent callers
	// elsewhere would find all gateways of this store alike, and keep callers from names
	// that can be locked. A gateway in quarantine is not ready: the quarantine is over
	// soon, and a new program should not be started before.
	store := check{Name: "store", OK: true}
	if err := h.Manager.Ping(ctx); err != nil {
		store = check{Name: "store", OK: errors.Is(err, backend.ErrPartly), Detail: err.Error()}
		if later, ok := errors.AsType[*backend.Later](err); ok {
			store.OK, store.after = false, later.After
		}
	}
	serving := check{Name: "serving", OK: true}
	if h.Manager.IsDraining() {
		serving = check{Name: "serving", Detail: "the gateway is going away and takes no new locks"}
	}
	journal := check{Name: "journal", OK: true} // locks can be had without it
	if err := h.Manager.JournalErr(); err != nil {
		journal.Detail = "not written, so that locks do not outlive the gateway: " + err.Error()
	}
	return []check{store, serving, journal}
}

// excluded are the names of checks that are left out, separated by commas.
type excluded []string

// Read sets e.
func (e *excluded) Read(v params.Value) error {
	for word := range strings.SplitSeq(v.Text(), ",") {
		if !slices.Contains(checkNames, word) {
			return fmt.Errorf("%s is not one of %s", session.Quote(word), strings.Join(checkNames, ", "))
		}
		*e = append(*e, word)
	}
	return nil
}

// versionInfo is what this gateway is. Who may ask nothing else is told the version alone.
type versionInfo struct {
	Version    string `json:"version"`
	GoVersion  string `json:"go_version"`
	Node       string `json:"node,omitempty"`
	Store      string `json:"store,omitempty"` // without secrets
	Shared     *bool  `json:"shared,omitempty"`
	Reach      string `json:"reach,omitempty"` // that, in words
	AdminToken *bool  `json:"admin_token,omitempty"`
}

func (h *Handler) version(c *gin.Context) error {
	v := versionInfo{Version: h.Version, GoVersion: runtime.Version()}
	if h.Access.Known(identityOf(c.Request.Context()).caller) == nil {
		store, cfg, admin := h.Manager.Info(), h.Manager.Config(), h.Access.HasAdminToken()
		v.Node, v.Store, v.Shared, v.Reach, v.AdminToken = cfg.Node, cfg.Store, &store.Shared, store.Reach(), &admin
	}
	writeJSON(c.Writer, http.StatusOK, v)
	return nil
}

func (h *Handler) openapi(c *gin.Context) error {
	write(c.Writer, http.StatusOK, "application/yaml", openapiYAML)
	return nil
}

// metrics serves Config.Metrics, within the time limit of every answer.
func (h *Handler) metrics(c *gin.Context) error {
	if h.Metrics == nil {
		return noRoute(c)
	}
	deadline(c.Writer)
	h.Metrics.ServeHTTP(c.Writer, c.Request)
	return nil
}
