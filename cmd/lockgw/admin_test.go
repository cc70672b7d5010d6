package main

import (
	"os"
	"testing"

	"github.com/lockgw/lockgw/session"
)

func TestAdmins(t *testing.T) {
	const token = "a-secret-of-more-than-16"
	me := os.Geteuid()
	for _, tt := range []struct {
		configured string
		uid        int
		sent       string
		want       bool
	}{
		{"", 0, "", true},
		{"", me, "", true},
		{"", 12345, "", false},
		{"", -1, "", false},
		{"", -1, token, false},
		{"", 0, token, false}, // whoever sends a token means it
		{token, -1, token, true},
		{token, 12345, token, true},
		{token, -1, token + "x", false},
		{token, -1, "", false},
		{token, 0, "", true},
	} {
		peer := session.Peer{UID: tt.uid, PID: 7, Command: "sh"}
		if who, ok := admins(tt.configured)(peer, tt.sent); ok != tt.want || ok && who == "" {
			t.Errorf("token %q, uid %d, sent %q: %q, %v, want %v", tt.configured, tt.uid, tt.sent, who, ok, tt.want)
		}
	}
}
