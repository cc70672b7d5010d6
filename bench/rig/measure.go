package rig

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lockgw/lockgw/bench/figures"
)

// Measure prints what do measures, also if that fails before it is complete.
func Measure(ctx context.Context, out io.Writer, p Plan, do func(*Rig, *figures.Table) ([]figures.Target, error)) (err error) {
	r, err := Open(ctx, p.Lockgw)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := r.Close(); err == nil {
			err = cerr
		}
	}()
	t := &figures.Table{}
	reach, err := do(r, t)
	if err := errors.Join(err, t.Print(out)); err != nil {
		return err
	}
	for _, g := range reach {
		fmt.Fprintln(out, g.Judge(t))
	}
	return nil
}
