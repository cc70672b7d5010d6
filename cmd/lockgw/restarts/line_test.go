package restarts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockgw/lockgw/socket/client"
)

// lineDoor is a client's connection to its gateway over resp.sock. When its connection
// has ended it connects again and joins its session, by HELLO or by AUTH.
type lineDoor struct {
	g      *gateway
	token  string
	line   *client.Client // nil: not connected
	byAuth bool
	lose   func() bool // see webDoor
}

// openLine opens a session that lives by its connections, or by keepalive if that
// is not 0.
func openLine(ctx context.Context, g *gateway, keepalive time.Duration) (*lineDoor, error) {
	d := &lineDoor{g: g}
	if keepalive > 0 {
		v, err := d.do(ctx, "SESSION", "NEW", "KEEPALIVE", fmt.Sprint(keepalive.Seconds()))
		d.token, _ = v.(string)
		return d, err
	}
	v, err := d.do(ctx, "SESSION", "INFO")
	if m, ok := v.(map[string]any); ok {
		d.token, _ = m["token"].(string)
	}
	return d, err
}

// connect does nothing while there is a connection.
func (d *lineDoor) connect(ctx context.Context) error {
	if d.line != nil && d.line.Err() == nil {
		return nil
	}
	var o client.Options
	if d.byAuth = !d.byAuth; !d.byAuth {
		o.Token = client.Token(d.token)
	}
	line, err := client.Dial(ctx, d.g.Socket(), o)
	if err == nil && d.byAuth && d.token != "" {
		_, err = line.Do(ctx, "AUTH", d.token)
	}
	if err != nil {
		if line != nil {
			line.Close()
		}
		return refused(err)
	}
	d.line = line
	return nil
}

// refused distinguishes a final answer from one that says to ask again.
func refused(err error) error {
	e := (*client.Error)(nil)
	if !errors.As(err, &e) || e.Word == "UNAVAILABLE" || e.Word == "DRAINING" {
		return err
	}
	code, ok := map[string]string{"LOST": "lost", "NOTHELD": "not_owner", "NOSESSION": "session_ended"}[e.Word]
	if !ok {
		code = e.Word
	}
	return &refusal{code, e.Text}
}

func (d *lineDoor) do(ctx context.Context, args ...string) (any, error) {
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	v, err := d.line.Do(ctx, args...)
	return v, refused(err)
}

// try is do, whose answer may be lost.
func (d *lineDoor) try(ctx context.Context, args ...string) (any, error) {
	v, err := d.do(ctx, args...)
	if err == nil && d.lose != nil && d.lose() {
		d.close()
		return nil, errUnheard
	}
	return v, err
}

func (d *lineDoor) acquire(ctx context.Context, name, key string, wait time.Duration) (l lock, err error) {
	v, err := d.try(ctx, "LOCK", name, "WAIT", fmt.Sprint(wait.Seconds()), "REQ", key, "FULL")
	switch {
	case err != nil:
		return lock{}, err
	case v == nil:
		return lock{}, &refusal{"wait_timeout", name}
	default:
		return l, convert(v, &l)
	}
}

func (d *lineDoor) release(ctx context.Context, name, key string) (int, error) {
	v, err := d.try(ctx, "UNLOCK", name, "REQ", key)
	if err != nil && strings.Contains(err.Error(), "renewing has stopped") {
		return 0, nil // given back, but the store has not confirmed
	}
	left, _ := v.(int64)
	return int(left), err
}

func (d *lineDoor) locks(ctx context.Context) ([]lock, error) {
	var info struct{ Locks []lock }
	v, err := d.do(ctx, "SESSION", "INFO")
	if err != nil {
		return nil, err
	}
	return info.Locks, convert(v, &info)
}

func (d *lineDoor) end(ctx context.Context) error {
	_, err := d.do(ctx, "SESSION", "END")
	d.close()
	return err
}

func (d *lineDoor) close() {
	if d.line != nil {
		d.line.Close()
	}
}

// convert reads a reply into v by the json tags of that.
func convert(reply, v any) error {
	b, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}
