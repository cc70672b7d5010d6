package journal

import (
	"encoding/base64"
	"strconv"

	"github.com/lockgw/lockgw/backend/jsontext"
)

// encode appends r as encoding/json would, byte for byte: the records of each turn and each
// session are written by hand (package jsontext).
func (r *record) encode(b []byte) []byte {
	b = append(b, `{"o":`...)
	b = jsontext.Quote(b, string(r.Op))
	b = jsontext.Text(b, `,"n":`, r.Name)
	b = jsontext.Text(b, `,"l":`, r.Slot)
	b = jsontext.Text(b, `,"i":`, r.ID)
	if r.Node != nil {
		b = jsontext.Rare(append(b, `,"node":`...), r.Node)
	}
	if r.Session != nil {
		b = r.Session.encode(append(b, `,"s":`...))
	}
	if r.Shown != nil {
		b = jsontext.Rare(append(b, `,"shown":`...), r.Shown)
	}
	if r.Turn != nil {
		b = r.Turn.encode(append(b, `,"t":`...))
	}
	if r.Answer != nil {
		b = r.Answer.encode(append(b, `,"a":`...))
	}
	if r.Lost != nil {
		b = jsontext.Rare(append(b, `,"lost":`...), r.Lost)
	}
	b = jsontext.Text(b, `,"w":`, r.Owner)
	b = jsontext.Number(b, `,"v":`, r.Number)
	return append(b, '}')
}

func (s *Session) encode(b []byte) []byte {
	b = jsontext.Quote(append(b, `{"id":`...), s.ID)
	b = jsontext.Quote(append(b, `,"uuid":`...), s.UUID)
	b = base64.StdEncoding.AppendEncode(append(b, `,"hash":"`...), s.Hash)
	b = jsontext.Text(append(b, '"'), `,"key":`, s.Key)
	b = jsontext.Moment(append(b, `,"since":`...), s.Since)
	b = jsontext.Text(b, `,"name":`, s.Name)
	if len(s.Meta) > 0 {
		b = jsontext.Rare(append(b, `,"meta":`...), s.Meta)
	}
	b = jsontext.Number(b, `,"peer_pid":`, int64(s.PeerPID))
	b = strconv.AppendInt(append(b, `,"peer_uid":`...), int64(s.PeerUID), 10)
	b = jsontext.Text(b, `,"command":`, s.Command)
	b = jsontext.Number(b, `,"ttl":`, int64(s.TTL))
	b = jsontext.Number(b, `,"keepalive":`, int64(s.Keepalive))
	b = jsontext.Number(b, `,"max_hold":`, int64(s.MaxHold))
	b = jsontext.Flag(b, `,"one_lock":`, s.OneLock)
	b = jsontext.Flag(b, `,"conns":`, s.Conns)
	b = jsontext.Quote(append(b, `,"life":`...), string(s.Life))
	b = jsontext.Number(b, `,"pid":`, int64(s.PID))
	b = jsontext.Number(b, `,"started":`, int64(s.Started))
	if s.Shown != nil {
		b = jsontext.Rare(append(b, `,"shown":`...), s.Shown)
	}
	b = jsontext.Number(b, `,"back":`, int64(s.Back))
	b = jsontext.Text(b, `,"user":`, s.User)
	b = jsontext.Flag(b, `,"admin":`, s.Admin)
	b = jsontext.Text(b, `,"account":`, s.Account)
	b = jsontext.Text(b, `,"access":`, s.Access)
	return append(b, '}')
}

func (t *Turn) encode(b []byte) []byte {
	b = jsontext.Quote(append(b, `{"s":`...), t.Session)
	b = strconv.AppendInt(append(b, `,"thread":`...), t.Thread, 10)
	b = strconv.AppendUint(append(b, `,"hold":`...), t.Hold, 10)
	b = strconv.AppendUint(append(b, `,"fence":`...), t.Fence, 10)
	b = strconv.AppendInt(append(b, `,"count":`...), int64(t.Count), 10)
	b = strconv.AppendInt(append(b, `,"ttl":`...), int64(t.TTL), 10)
	b = jsontext.Flag(b, `,"fixed":`, t.Fixed)
	b = jsontext.Number(b, `,"mode":`, int64(t.Mode))
	b = jsontext.Number(b, `,"max":`, int64(t.MaxHoldAt))
	b = jsontext.Number(b, `,"keep":`, int64(t.KeepUntil))
	b = jsontext.Flag(b, `,"kept":`, t.Kept)
	b = jsontext.Text(b, `,"owner":`, t.Owner)
	b = strconv.AppendInt(append(b, `,"until":`...), int64(t.Deadline), 10)
	b = jsontext.Text(b, `,"note":`, t.Note)
	b = jsontext.Moment(append(b, `,"since":`...), t.Since)
	return append(b, '}')
}

func (a *Answer) encode(b []byte) []byte {
	b = jsontext.Quote(append(b, `{"key":`...), a.Key)
	b = jsontext.Quote(append(b, `,"what":`...), a.What)
	b = jsontext.Moment(append(b, `,"at":`...), a.At)
	b = jsontext.Number(b, `,"up":`, int64(a.Up))
	b = jsontext.Text(b, `,"name":`, a.Name)
	b = jsontext.Number(b, `,"thread":`, a.Thread)
	if a.Fence != 0 {
		b = strconv.AppendUint(append(b, `,"fence":`...), a.Fence, 10)
	}
	b = jsontext.Flag(b, `,"new":`, a.New)
	b = jsontext.Number(b, `,"count":`, int64(a.Count))
	b = jsontext.Number(b, `,"free":`, int64(a.Free))
	b = jsontext.Text(b, `,"code":`, a.Code)
	b = jsontext.Text(b, `,"detail":`, a.Detail)
	b = jsontext.Text(b, `,"lost":`, a.Lost)
	return append(b, '}')
}
