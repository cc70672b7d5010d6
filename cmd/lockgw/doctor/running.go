package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

// examination is what a running gateway finds, as GET /v1/admin/doctor tells it.
type examination struct {
	Node     string                       `json:"node"`
	File     string                       `json:"file,omitempty"`
	Config   map[string]config.ShownValue `json:"config"`
	Findings []finding                    `json:"findings"`
}

// Examine is what a gateway that runs with s finds of its store and its machine; passed: the
// service manager has passed it its Unix sockets.
func Examine(ctx context.Context, s config.Settings, passed bool) any {
	return examination{Node: s.Node, File: s.File, Config: s.Shown(), Findings: examineAll(ctx, s, passed)}
}

// askGateway has the running gateway look, and looks from here where there is none. s is the configuration of this shell.
func askGateway(ctx context.Context, g cli.Gateway, s config.Settings) []finding {
	var v struct{ Version, Node, Store, Reach string }
	soon, cancel := context.WithTimeout(ctx, cli.DialTimeout)
	defer cancel()
	if err := g.Get(soon, "/version", &v); err != nil {
		return append([]finding{absent(err)}, examineHere(ctx, s)...)
	}
	found := append([]finding{{examine.OK, "gateway", fmt.Sprintf("%s runs lockgw %s with %s, %s", v.Node, v.Version, v.Store, v.Reach), ""}, commandSocket(ctx, g)}, readiness(ctx, g)...)
	var x examination
	if err := g.Get(ctx, "/v1/admin/doctor", &x); err != nil {
		return append(found, finding{
			examine.Warn, "configuration", fmt.Sprintf("the gateway does not tell its own, nor what is wrong with its store: %v", err),
			"run doctor as root or as the gateway's user",
		})
	}
	return append(append(found, compared(x, s)), x.Findings...)
}

// commandSocket is about the socket that commands use: what else is asked here is asked over
// HTTP, on the one beside it.
func commandSocket(ctx context.Context, g cli.Gateway) finding {
	if err := g.Answers(ctx); err != nil {
		return finding{
			examine.Fail, cli.RespSocket, err.Error(),
			"see what has removed or replaced it, and restart the gateway; under systemd lockgw-resp.socket before it",
		}
	}
	return finding{examine.OK, cli.RespSocket, "answers", ""}
}

// absent tells whether no gateway is there. One that this user may not use, or that does not
// answer, is.
func absent(err error) finding {
	var e *cli.ExitError
	switch {
	case errors.As(err, &e) && e.Code == cli.ExitNoPermission:
		return finding{examine.Fail, "gateway", err.Error(), "run doctor as a user who may use the socket; what follows is as found from here"}
	case errors.As(err, &e) && e.Code == cli.ExitUsage: // what is named is no gateway's
		return finding{examine.Fail, "gateway", err.Error(), "name the resp.sock of the gateway, or none; what follows is as found from here"}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return finding{
			examine.Warn, "gateway", fmt.Sprintf("none runs here (%v); what follows is what one would find that was started from this shell", err),
			"start it: systemctl start lockgw, or lockgw serve",
		}
	default:
		return finding{
			examine.Fail, "gateway", err.Error(),
			"see its log; if that goes on, restart it: systemctl restart lockgw; what follows is as found from here",
		}
	}
}

// compared says which configuration is in force. It differs from that of this shell if the
// gateway was started with variables or flags of its own, or before the file was changed.
func compared(x examination, s config.Settings) finding {
	const key = "backend.url"
	theirs, ours := x.Config[key], s.Shown()[key]
	detail := fmt.Sprintf("of the gateway: %s, %s is %s (%s)", cmp.Or(x.File, "no file"), key, theirs.Value, theirs.Origin)
	if theirs.Value == ours.Value {
		return finding{examine.OK, "configuration", detail, ""}
	}
	return finding{
		examine.Warn, "configuration", fmt.Sprintf("%s; in this shell it is %s (%s)", detail, ours.Value, ours.Origin),
		"restart the gateway if its configuration was changed after its start; otherwise nothing, the gateway's counts",
	}
}

// remedies of what a gateway says of itself at /readyz.
var remedies = map[string]string{
	"store":   "see that all servers of the store run and can be reached; a quarantine ends by itself",
	"serving": "wait for its end, and start it again",
	"journal": "make room in state_dir, and see that the gateway may write there",
}

// readiness is what /readyz says. What is ready in part is not ok.
func readiness(ctx context.Context, g cli.Gateway) (found []finding) {
	var ready struct {
		Detail string
		Checks []struct {
			Name   string
			OK     bool
			Detail string
		}
	}
	if err := g.GetAny(ctx, "/readyz?verbose", &ready); err != nil {
		return []finding{{examine.Fail, "ready", err.Error(), "see the log of the gateway"}}
	}
	for _, k := range ready.Checks {
		switch {
		case !k.OK:
			found = append(found, finding{examine.Fail, k.Name, k.Detail, remedies[k.Name]})
		case k.Detail != "":
			found = append(found, finding{examine.Warn, k.Name, k.Detail, remedies[k.Name]})
		default:
			found = append(found, finding{examine.OK, k.Name, "ready", ""})
		}
	}
	return found
}
