package quorum

import (
	"fmt"
	"strings"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/dialer"
)

// Examine has ask look at each member of a, for the doctor, and says how many answer, unless ask
// warns of them. program is what has to be started if none does.
func Examine(a dialer.Address, program string, ask func(i int) (f backend.Finding, ok bool)) []backend.Finding {
	asked := make([]*backend.Finding, len(a.Members))
	_ = backend.Each(len(a.Members), func(i int) error {
		if f, ok := ask(i); ok {
			f.Check = "member " + a.Members[i]
			asked[i] = &f
		}
		return nil
	})
	var found []backend.Finding
	var lacks []string
	for i, f := range asked {
		if f == nil {
			continue
		}
		if found = append(found, *f); f.Warned {
			lacks = append(lacks, a.Members[i])
		}
	}
	f := backend.Finding{Check: "connection"}
	if len(lacks) == len(a.Members) {
		f.Fails, f.Detail, f.Remedy = true, "no member can be reached: "+strings.Join(lacks, ", "), "correct backend.url, or start "+program
	} else {
		f.Detail = fmt.Sprintf("%d of %d members that backend.url names answer", len(a.Members)-len(lacks), len(a.Members))
	}
	return append(found, f)
}
