package limits

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/rig"
)

const refusedGroup = "beyond a limit"

// overdone is somebody who goes beyond one limit of a gateway of its own.
type overdone struct {
	limit string   // as docs/configuration.md names it, or in words
	flags []string // of the gateway
	user  bool     // counts for users who are no administrators alone
	// exceed returns the refusal, as the gateway has said it; "": it was not refused.
	exceed func(s *stage) (refusal string, err error)
}

// stage is where a limit is exceeded, by one user and more of them.
type stage struct {
	g     *rig.Gateway
	users []*callers.Dialer
	open  []io.Closer
}

// dial connects as one of the users.
func (s *stage) dial(user int, path string) (*callers.Wire, error) {
	for len(s.users) <= user {
		s.users = append(s.users, callers.NewDialer(callers.OtherUser+len(s.users)))
	}
	w, err := s.users[user].Dial(path)
	if err == nil {
		s.open = append(s.open, w)
	}
	return w, err
}

func (s *stage) close() {
	for _, c := range s.open {
		_ = c.Close()
	}
}

// refusals shows what a caller is told at each limit. It is an error if that is nothing, or
// if it costs anybody, that caller included, what was held before.
func refusals(ctx context.Context, r *rig.Rig, _ rig.Plan, t *figures.Table) error {
	for _, o := range overdones {
		if o.user && !callers.SeveralUsers() {
			t.Note(refusedGroup, o.limit, 0, 0, "not measured: it needs root, who can be several users")
			continue
		}
		if err := exceed(ctx, r, t, o); err != nil {
			return fmt.Errorf("%s: %w", o.limit, err)
		}
	}
	return nil
}

func exceed(ctx context.Context, r *rig.Rig, t *figures.Table, o overdone) error {
	g, err := r.Another(ctx, "redis://"+r.Addr, o.flags...)
	if err != nil {
		return err
	}
	h, err := newKeeper(g)
	if err != nil {
		return err
	}
	defer h.close()
	s := &stage{g: g}
	defer s.close()
	said, err := o.exceed(s)
	if err == nil && said == "" {
		err = errors.New("not refused")
	}
	if err := errors.Join(err, h.keeps()); err != nil {
		return err
	}
	t.Note(refusedGroup, o.limit, 0, 0, "%s", said)
	return r.StopGateway(g)
}
