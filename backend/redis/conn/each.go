package conn

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

// Each asks all servers at once and joins their errors, which say whose they are
// where there are several servers.
func Each(servers []*goredis.Client, ask func(i int, c *goredis.Client) error) error {
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, c := range servers {
		wg.Go(func() {
			errs[i] = ask(i, c)
			if errs[i] != nil && len(servers) > 1 {
				errs[i] = fmt.Errorf("%s: %w", c.Options().Addr, errs[i])
			}
		})
	}
	wg.Wait()
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}
