// Package serve is `lockgw serve`: it opens the store, the core and the fronts, listens,
// and stops all of them in order. It decides nothing about locks.
package serve

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/api"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/session/peer"
)

// An Examiner looks at the store and the machine as a gateway with these settings finds
// them, and returns what it found, for JSON. passed: both Unix sockets are the service manager's.
type Examiner func(ctx context.Context, s config.Settings, passed bool) any

// New is the command `serve`. Without an Examiner the gateway cannot be asked to look.
func New(examine Examiner) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway",
		Long: `Run the gateway until SIGTERM or SIGINT. Without any configuration it serves
locks of this machine alone, on 127.0.0.1:7420 and in the runtime directory.

A first signal lets clients know, keeps or releases what is held as shutdown.holds
says, and stops within shutdown.timeout; a second one ends the process at once. SIGHUP and
POST /v1/admin/reload read the configuration again and apply access, admin, the rate limits, the
certificates and log.level; the log says which other changes need a restart.`,
		Example: `  lockgw serve                                                  # locks of this machine alone
  lockgw serve --backend-url redis://redis.example.net:6379     # with all machines on that Redis
  lockgw serve --config ./lockgw.yaml --log-level debug`,
		Args: cli.UsageArgs(cli.NoArgs),
	}
	load := config.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), load, examine) }
	return cmd
}

func (x Examiner) with(s config.Settings, passed bool) func(context.Context) any {
	if x == nil {
		return nil
	}
	return func(ctx context.Context) any { return x(ctx, s, passed) }
}

// openLog begins the log with what is doubtful about the settings. Call flush at the end.
func openLog(s config.Settings) (log *slog.Logger, level *slog.LevelVar, flush func()) {
	level = new(slog.LevelVar)
	level.Set(s.Log.SlogLevel())
	w := cli.NewPatient(os.Stderr)
	log = newLog(w, cli.IsTerminal(os.Stderr), s.Log, level)
	for _, warning := range s.Warnings {
		log.Warn(warning)
	}
	return log, level, func() {
		select {
		case <-w.Written():
		case <-time.After(logPatience):
		}
	}
}

// serve runs a gateway until a signal ends it, or until one of its parts fails.
func serve(ctx context.Context, load func() (config.Settings, error), examine Examiner) error {
	s, err := load()
	if err != nil {
		return err
	}
	log, level, flush := openLog(s)
	defer flush()
	control, err := access.New(s.Admission)
	if err != nil {
		return err
	}
	signals := notifySignals() // early: a signal during the start must not be lost

	passed, err := takePassed(activation.Files(true))
	if err != nil {
		return err
	}
	defer passed.close()
	fds := peer.NewDescriptors()
	ls, err := listen(s.Config, passed, api.Listening{Descriptors: fds, Log: log})
	if err != nil {
		return err
	}
	defer ls.close()
	past, err := remember(s.StateDir, s.History, log)
	if err != nil {
		return err
	}
	defer past.close()
	seen, err := observe(ctx, s, log)
	if err != nil {
		return err
	}
	defer seen.close(log)
	log = seen.log(log)
	store, err := openStore(ctx, s.Config, past, seen, log)
	if err != nil {
		return err
	}
	defer store.Close()

	a, service := newActors(), &serviceManager{log: log}
	r := &reloader{load: load, running: s, service: service, access: control, certs: ls.certs, level: level, log: log,
		file: s.File, ruled: len(s.Admission.Rules) > 0}
	g := newGateway(s.Config, store, past, admission{control, r.reload, fds, examine.with(s, ls.dir == nil)}, seen, log)
	seen.watch(g.manager, log)
	ls.serve(a, g)
	a.start(func() error { return signals.wait(r) })
	log.Info("serving", "node", s.Node, "store", config.StoreText(s.Backend.URL), "reach", store.Info().Reach(),
		"sockets", ls.addresses("unix"), "http", ls.addresses("tcp"), "version", cli.Version())
	service.start(g)
	defer service.close()

	a.first()
	signals.stop()
	log.Info("stopping", "timeout", s.Shutdown.Timeout.String())
	cutOff(s.Shutdown.Timeout, log)
	service.stopping()
	passed.leave()
	err = g.stop(s.Shutdown.Timeout)
	return errors.Join(a.wait(), err)
}
