package quorum

import (
	"fmt"
	"strings"

	"github.com/lockgw/lockgw/backend"
)

// Answering is what was found of the members of a, of which those in lacks do not answer, for
// the doctor. program is what has to be started if none does.
func Answering(a Address, lacks []string, program string) backend.Finding {
	f := backend.Finding{Check: "connection"}
	if len(lacks) == len(a.Members) {
		f.Fails, f.Detail, f.Remedy = true, "no member can be reached: "+strings.Join(lacks, ", "), "correct backend.url, or start "+program
		return f
	}
	f.Detail = fmt.Sprintf("%d of %d members that backend.url names answer", len(a.Members)-len(lacks), len(a.Members))
	return f
}
