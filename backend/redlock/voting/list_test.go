package voting

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
)

// dead is a server that cannot be listed.
type dead struct{ ledger.Table }

func (dead) List(context.Context, string, string, int) ([]ledger.Named, string, error) {
	return nil, "", errors.New("connection refused")
}

// A list that too few servers have told says why, whichever they are.
func TestListWithoutMajority(t *testing.T) {
	for alive := range 3 {
		var tables []ledger.Table
		for i := range 3 {
			s := ledger.Table(memory.OpenTable(memory.NewRows(), "a"))
			if i != alive {
				s = dead{s}
			}
			tables = append(tables, s)
		}
		all := New(tables)
		defer all.Close()
		if _, _, err := all.List(t.Context(), "", "", 10); !errors.Is(err, backend.ErrPartly) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("where server %d alone answers: %v", alive+1, err)
		}
	}
}
