package client

import (
	"context"
	"fmt"
	"strconv"
)

// Break takes name from whoever holds it with that fence, if owner is the holder that
// was seen; "" compares none. token is the admin token,
// "" if the user of this process is enough.
func (c *Client) Break(ctx context.Context, name string, fence uint64, owner, token string) error {
	args := []string{"BREAK", name, "FENCE", strconv.FormatUint(fence, 10)}
	args = withText(args, "OWNER", owner)
	_, err := c.Do(ctx, withText(args, "TOKEN", token)...)
	return err
}

// SessionQuery chooses sessions for Client.Sessions.
type SessionQuery struct {
	Prefix string // of their names
	Cursor string // "", or what the last call returned as next
	Count  int    // at most so many; 0: as many as the gateway gives at once by default
	Token  string // the admin token; "": the user of this process is enough
}

// Sessions is a page of the sessions of this gateway, in the order of their ids. next
// is "" at the end.
func (c *Client) Sessions(ctx context.Context, q SessionQuery) (page []Summary, next string, err error) {
	args := withText([]string{"SESSION", "LIST"}, "PREFIX", q.Prefix)
	args = withText(args, "CURSOR", q.Cursor)
	args = withCount(args, "COUNT", q.Count)
	v, err := c.Do(ctx, withText(args, "TOKEN", q.Token)...)
	if err != nil {
		return nil, "", err
	}
	pair, ok := v.([]any)
	if !ok || len(pair) != 2 {
		return nil, "", fmt.Errorf("gateway: SESSION LIST was answered with a %T", v)
	}
	next, _ = pair[0].(string)
	for _, f := range list(pair[1]) {
		page = append(page, f.summary())
	}
	return page, next, nil
}

// KillSession ends the session with that id, and returns the names that it held. token
// is as for Break.
func (c *Client) KillSession(ctx context.Context, id, token string) ([]string, error) {
	v, err := c.Do(ctx, withText([]string{"SESSION", "KILL", id}, "TOKEN", token)...)
	return texts(v), err
}

// KillUser ends all sessions of a user, and returns how many those were. The user is
// user: and a number, token: or cert: and a name, or unknown for all who are known by
// none of these. token is as for Break.
func (c *Client) KillUser(ctx context.Context, user, token string) (int, error) {
	v, err := c.Do(ctx, withText([]string{"SESSION", "KILL", "USER", user}, "TOKEN", token)...)
	n, _ := v.(int64)
	return int(n), err
}
