package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// parseMessage reads a message to node. Anybody who may connect can forge one: a record that
// cannot be read is left out, and one that can is only ever compared with.
func parseMessage(payload, node string) (ledger.Addressed, bool) {
	m, text, ok := ledger.ParseMessage(payload, node)
	var with struct {
		Version, Clock int64
		IDs, Ends      []int64
		Record         json.RawMessage
	}
	if !ok || json.Unmarshal([]byte(text), &with) != nil || with.Version == 0 {
		return m, ok
	}
	a := answer{version: with.Version, record: string(with.Record), ids: with.IDs, ends: with.Ends, clock: with.Clock}
	if r, err := a.reply(m.Name); err == nil {
		m.Reply = &r
	}
	return m, true
}

// telling is the statement that sends the messages of a write.
func (t *Table) telling(raw, name string, ms []ledger.Message) statement {
	nodes, heads := make([]string, len(ms)), make([]string, len(ms))
	for i, m := range ms {
		nodes[i], heads[i] = m.Node, ledger.Heading(m.Kind, name)
	}
	return newStatement(tellSQL, raw, nodes, heads)
}

// afterwards carries out s, which sends the messages of a write that was carried out, unless they
// were sent, and returns who does not hear them. Where that fails they are lost, as messages may be.
func (t *Table) afterwards(ctx context.Context, name string, s statement) []string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	var unheard []string
	got, err := t.requests.send(ctx, s)
	if err == nil {
		unheard, err = readUnheard(got[0])
	}
	if err != nil {
		t.Log.Warn("messages to other gateways may be lost; they notice by their timers", "lock", name, "err", t.noticed(err))
	}
	return unheard
}

func readUnheard(got sqltable.Rows) (unheard []string, err error) {
	for _, row := range got {
		r := sqltable.NewReader(row)
		node, _, hears := r.Text(), r.Text(), r.Is()
		if !hears {
			unheard = append(unheard, node)
		}
		if err == nil {
			err = r.Err
		}
	}
	return unheard, err
}

func (t *Table) send(ctx context.Context, ms []ledger.Addressed) error {
	channels, payloads := make([]string, len(ms)), make([]string, len(ms))
	for i, m := range ms {
		channels[i], payloads[i] = channelPrefix+m.Node, ledger.Heading(m.Kind, m.Name)
		if m.Text != "" {
			payloads[i] += " " + m.Text
		}
		if !utf8.ValidString(payloads[i]) || strings.ContainsRune(payloads[i], 0) {
			return fmt.Errorf("%w: the text of a message about %s is no UTF-8, or has a NUL in it", backend.ErrInvalid, m.Name)
		}
	}
	return t.noticed(t.requests.do(ctx, sendSQL, channels, payloads))
}
