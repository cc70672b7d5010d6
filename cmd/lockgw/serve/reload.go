package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/session/access"
)

// reloader applies a changed configuration to a running gateway, as far as that
// can be done without a restart.
type reloader struct {
	load    func() (config.Settings, error)
	running config.Settings // as it was started; what needs a restart is still so
	service *serviceManager
	access  *access.Control
	certs   *certificates // nil: there is no TLS
	level   *slog.LevelVar
	log     *slog.Logger

	mu    sync.Mutex // one reload at a time; guards the fields below
	file  string     // that was read last; "" if there was none
	ruled bool       // it had rules of access
}

// reload reads the layers again, and all files that they name. If anything is wrong
// with them, the old configuration stays in force as a whole. It returns the keys
// whose new value needs a restart. The service manager is told when it begins and
// when it is over.
func (r *reloader) reload() (restart []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.service.reload(func() { restart, err = r.apply() })
	return restart, err
}

// signalled is reload after a signal: an error is logged, because there is nobody to answer.
func (r *reloader) signalled() {
	if _, err := r.reload(); err != nil {
		r.log.Error("the configuration was not reloaded, the old one stays in force", "err", err)
	}
}

func (r *reloader) apply() (restart []string, err error) {
	s, err := r.load()
	if err != nil {
		return nil, err
	}
	if r.file != "" && s.File == "" { // the one that is read if it exists
		return nil, fmt.Errorf("%s is not there any more, and its rules would not be, either; restart the gateway if it is to do without", r.file)
	}
	if r.ruled && !s.Given("access.rules") { // as in a file that is empty, or half written
		return nil, errors.New("access.rules is set nowhere any more, and everybody might lock and look at every name; write access: {rules: []} if that is meant")
	}
	certs, err := r.certs.read(s.Access.TokensFile != "")
	if err != nil {
		return nil, err
	}
	if err := r.access.Set(s.Admission); err != nil {
		return nil, err
	}
	r.file, r.ruled = s.File, len(s.Admission.Rules) > 0
	r.certs.use(certs)
	r.level.Set(s.Log.SlogLevel())
	for _, warning := range s.Warnings {
		r.log.Warn(warning)
	}
	restart = config.NeedsRestart(&r.running, &s)
	r.log.Info("configuration reloaded", "log_level", s.Log.Level, "needs_restart", restart, "access_rules", len(s.Access.Rules))
	return restart, nil
}
