package main

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// No two things are set by one variable.
func TestVariablesAreDistinct(t *testing.T) {
	of := map[string]string{}
	root := newRootCommand()
	for _, cmd := range root.Commands() {
		for _, name := range cli.EnvVars(cmd) {
			of[name] = "a flag of " + cmd.Name()
		}
	}
	serve, _, err := root.Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	keys := 0
	serve.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[cli.ConfigKey] == nil {
			return
		}
		keys++
		key := f.Annotations[cli.ConfigKey][0]
		if other := of[cli.EnvVar(f.Name)]; other != "" && key != "admin.token_file" { // it is the same file for break
			t.Errorf("%s is the variable of %s and of %s", cli.EnvVar(f.Name), key, other)
		}
		of[cli.EnvVar(f.Name)] = "the key " + key
	})
	if keys < 40 {
		t.Errorf("serve has %d keys of the configuration, want all", keys)
	}
	for _, name := range cli.CommandEnv {
		if key := of[name]; len(key) > 4 && key[:4] == "the " {
			t.Errorf("%s tells a command about its lock, but also sets %s", name, key)
		}
	}
}
