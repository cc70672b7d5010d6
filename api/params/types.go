package params

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/lockgw/lockgw/session"
)

// Duration is a string such as 30s, or a number of seconds.
type Duration time.Duration

// Read sets d.
func (d *Duration) Read(v Value) error {
	if err := v.must(kindText, kindNumber); err != nil {
		return err
	}
	t, err := session.ParseDuration(v.text)
	*d = Duration(t)
	return err
}

// Positive is a Duration that is longer than 0.
type Positive time.Duration

// Read sets d.
func (d *Positive) Read(v Value) error {
	err := (*Duration)(d).Read(v)
	if err == nil && *d == 0 {
		return errors.New("must be longer than 0")
	}
	return err
}

// Boolean is true or false.
type Boolean bool

// Read sets b.
func (b *Boolean) Read(v Value) error {
	if err := v.must(kindBoolean); err != nil {
		return err
	}
	if v.text != "true" && v.text != "false" {
		return errors.New("must be true or false")
	}
	*b = v.text == "true"
	return nil
}

// Flag is a Boolean of the query that is true by its name alone.
type Flag bool

// Read sets f.
func (f *Flag) Read(v Value) error {
	if v.text == "" {
		*f = true
		return nil
	}
	return (*Boolean)(f).Read(v)
}

// Thread of an owner, from 1 on.
type Thread int64

// Read sets t.
func (t *Thread) Read(v Value) error { return integer(t, v, math.MaxInt64) }

// Permits is the size of a semaphore.
type Permits int

// Read sets n.
func (n *Permits) Read(v Value) error { return integer(n, v, session.MaxLimit) }

// PageSize is how many items a page of a list has at most.
type PageSize int

// Read sets n.
func (n *PageSize) Read(v Value) error { return integer(n, v, 1000) }

// Fence is the fence of a grant, see backend.Fence.
type Fence uint64

// Read sets f.
func (f *Fence) Read(v Value) error { return integer(f, v, 1<<53-1) }

// PID is the number of a process.
type PID int

// Read sets p.
func (p *PID) Read(v Value) error { return integer(p, v, math.MaxInt32) }

// Bind is a process as pid:N; 0: none.
type Bind int

// Read sets b.
func (b *Bind) Read(v Value) error {
	if err := v.must(kindText); err != nil {
		return err
	}
	n, ok := strings.CutPrefix(v.text, "pid:")
	if !ok {
		return errors.New("must be pid: and the number of a process")
	}
	return (*PID)(b).Read(Value{text: n})
}

// Process is a process as an object with its pid; 0: none.
type Process int

// Read sets p.
func (p *Process) Read(v Value) error {
	if err := v.must(kindObject); err != nil {
		return err
	}
	var o struct {
		PID PID `param:"pid"`
	}
	err := v.members.read(&o)
	*p = Process(o.PID)
	if inner, ok := errors.AsType[*session.Error](err); ok {
		return errors.New(inner.Detail) // the code is added to that of this parameter
	}
	if err == nil && o.PID == 0 {
		return errors.New("pid: is missing: the number of the process")
	}
	return err
}

// integer sets n to a decimal from 1 to most.
func integer[N ~int | ~int64 | ~uint64](n *N, v Value, most int64) error {
	if err := v.must(kindNumber); err != nil {
		return err
	}
	i, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil || i < 1 || i > most || v.text[0] == '+' {
		if most == math.MaxInt64 {
			return errors.New("must be a decimal from 1 on")
		}
		return fmt.Errorf("must be a decimal from 1 to %d", most)
	}
	*n = N(i)
	return nil
}
