package events

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ID names an event. The zero value names none.
type ID struct {
	// Start tells the processes of a gateway apart: the numbers of each begin anew.
	Start int64
	// N rises by one from event to event.
	N uint64
}

// String is the form in which clients keep an ID, to be read by ParseID.
func (id ID) String() string { return fmt.Sprintf("%d-%d", id.Start, id.N) }

// MarshalText is String.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is ParseID.
func (id *ID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseID(string(b))
	return err
}

var errID = errors.New("not the id of an event")

// ParseID reads what String has written.
func ParseID(s string) (ID, error) {
	start, n, _ := strings.Cut(s, "-")
	var id ID
	var err error
	if id.Start, err = strconv.ParseInt(start, 10, 64); err != nil {
		return ID{}, errID
	}
	if id.N, err = strconv.ParseUint(n, 10, 64); err != nil {
		return ID{}, errID
	}
	return id, nil
}
