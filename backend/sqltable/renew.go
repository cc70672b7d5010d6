package sqltable

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// renewTogether is how many leases one statement renews at most, so that it holds up nobody
// for long.
const renewTogether = 200

// Renew renews rs, several at once by prolong, which gets the indexes of those of one
// statement, and sets their errors to nil; or returns why none of them was renewed. It answers
// as ledger.Table does: where some leases have no answer, their errors say so and those of the
// others count.
func Renew(rs []ledger.Renewal, prolong func(group []int, errs []error) error) ([]error, error) {
	errs := make([]error, len(rs))
	groups := groupsOf(rs)
	whole := make([]error, len(groups))
	var wg sync.WaitGroup
	for g, group := range groups {
		for _, i := range group {
			errs[i] = backend.ErrNotHeld
		}
		wg.Go(func() {
			if whole[g] = prolong(group, errs); whole[g] != nil {
				for _, i := range group {
					errs[i] = whole[g]
				}
			}
		})
	}
	wg.Wait()
	if len(groups) == 1 && whole[0] != nil && !errors.Is(whole[0], backend.ErrNotHeld) {
		return nil, whole[0]
	}
	return errs, nil
}

// groupsOf are the indexes of rs in groups, each name at most once in a group, in the order of
// the names, lest two gateways that share several of them wait for each other.
func groupsOf(rs []ledger.Renewal) (groups [][]int) {
	seen := map[string]int{}
	filling := map[int]int{} // by how often the name has come before
	for i, r := range rs {
		n := seen[r.Name]
		seen[r.Name]++
		g, ok := filling[n]
		if !ok || len(groups[g]) == renewTogether {
			g = len(groups)
			groups, filling[n] = append(groups, nil), g
		}
		groups[g] = append(groups[g], i)
	}
	for _, g := range groups {
		slices.SortFunc(g, func(a, b int) int { return strings.Compare(rs[a].Name, rs[b].Name) })
	}
	return groups
}
