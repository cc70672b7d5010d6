package main

import (
	"log/slog"
)

// reloader applies a changed configuration to a running gateway, as far as that
// can be done without a restart.
type reloader struct {
	load    func() (settings, error)
	running settings // as it was started; what needs a restart is still so
	service *serviceManager
	level   *slog.LevelVar
	log     *slog.Logger
}

// reload reads the layers again. If anything is wrong with them, the old
// configuration stays in force as a whole. The service manager is told when it
// begins and when it is over.
func (r *reloader) reload() { r.service.reload(r.apply) }

func (r *reloader) apply() {
	s, err := r.load()
	if err != nil {
		r.log.Error("the configuration was not reloaded, the old one stays in force", "err", err)
		return
	}
	for _, warning := range s.warnings {
		r.log.Warn(warning)
	}
	r.level.Set(s.Log.level())
	r.log.Info("configuration reloaded", "log_level", s.Log.Level, "needs_restart", r.needsRestart(&s))
}

// needsRestart lists the keys whose new value is not in force.
func (r *reloader) needsRestart(s *settings) []string {
	keys := []string{}
	for _, f := range configFields() {
		if f.key != "log.level" && f.text(&s.config) != f.text(&r.running.config) {
			keys = append(keys, f.key)
		}
	}
	return keys
}
