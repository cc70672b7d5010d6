package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/backend/breaker"
	"github.com/lockgw/lockgw/backend/instrument"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/cmd/lockgw/telemetry"
	"github.com/lockgw/lockgw/session"
)

// deliverTimeout bounds how long a gateway that stops waits for its last telemetry to
// be taken.
const deliverTimeout = 3 * time.Second

// observation is what shows from outside what a gateway does. The zero value shows
// nothing.
type observation struct {
	tel      *telemetry.Telemetry
	sources  telemetry.Sources
	observer session.Observer
	around   gin.HandlerFunc
	metrics  http.Handler
}

// observe opens what the configuration and OTEL_* ask for. Close it.
func observe(ctx context.Context, s config.Settings, log *slog.Logger) (*observation, error) {
	tel, err := telemetry.Open(ctx, telemetry.Config{Version: cli.Version(), Node: s.Node, Groups: s.Telemetry.Groups, Log: log})
	if err != nil {
		return nil, err
	}
	o := &observation{tel: tel, metrics: tel.Handler()}
	var e1, e2 error
	o.observer, e1 = tel.Observer()
	o.around, e2 = tel.HTTP()
	if err := errors.Join(e1, e2); err != nil {
		o.close(log)
		return nil, err
	}
	return o, nil
}

// log is what log is, and goes where OTEL_* says too.
func (o *observation) log(log *slog.Logger) *slog.Logger {
	return slog.New(o.tel.LogHandler(log.Handler()))
}

// measured is t, measured.
func (o *observation) measured(t ledger.Table) (ledger.Table, error) {
	o.sources.Backend = t.Info().Type
	if hears, ok := t.(interface{ ProbeAge() time.Duration }); ok {
		o.sources.ProbeAge = hears.ProbeAge
	}
	return instrument.New(t, o.tel.Meters(), o.tel.Tracers())
}

// gate notes the breaker.
func (o *observation) gate(t ledger.Table) ledger.Table {
	o.sources.Breaker = func() (breaker.State, uint64) { return breaker.StateOf(t) }
	return t
}

// watch has the metrics tell of m.
func (o *observation) watch(m *session.Manager, log *slog.Logger) {
	o.sources.Stats, o.sources.Journal = m.Stats, m.JournalErr
	if err := o.tel.Watch(o.sources); err != nil { // a defect, and no reason to give no locks
		log.Error("the state of the gateway is not in the metrics", "err", err)
	}
}

// close delivers what is left.
func (o *observation) close(log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), deliverTimeout)
	defer cancel()
	if err := o.tel.Close(ctx); err != nil {
		log.Warn("the last telemetry was not delivered", "err", err)
	}
}
