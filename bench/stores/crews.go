package stores

import (
	"errors"

	"github.com/lockgw/lockgw/bench/callers"
)

// shared has all callers use one client.
func shared[C any](client C, caller func(c C, i int) (callers.Op, error)) func(n int) (callers.Crew, error) {
	return func(n int) (c callers.Crew, err error) {
		for i := range n {
			do, err := caller(client, i)
			if err != nil {
				return c, err
			}
			c.Ops = append(c.Ops, do)
		}
		return c, nil
	}
}

// each has a connection for each caller.
func each[S interface{ close() error }](caller func(i int) (S, callers.Op, error)) func(n int) (callers.Crew, error) {
	return func(n int) (c callers.Crew, err error) {
		var open []S
		c.Close = func() error {
			var errs []error
			for _, s := range open {
				errs = append(errs, s.close())
			}
			return errors.Join(errs...)
		}
		for i := range n {
			s, do, err := caller(i)
			if err != nil {
				return c, err
			}
			open, c.Ops = append(open, s), append(c.Ops, do)
		}
		return c, nil
	}
}
