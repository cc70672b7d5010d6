package config

// NeedsRestart lists the keys whose value in next is in force only after a restart.
func NeedsRestart(running, next *Config) []string {
	keys := []string{}
	for _, f := range fields() {
		if !f.reload && f.text(next) != f.text(running) {
			keys = append(keys, f.key)
		}
	}
	return keys
}
