package api

import (
	"log/slog"
	"net/http"
	"time"
)

// Limits of a request. A request beyond them does not reach the router.
const (
	maxBody    = 64 << 10
	maxHeaders = 16 << 10
	maxURL     = 2 << 10
)

// NewServer makes a server for any number of listeners, over TCP, TLS or Unix
// sockets. It has no WriteTimeout, because waits and streams are long: each
// answer has a deadline of its own.
func NewServer(h *Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeaders,
		ConnContext:       h.connContext,
		ErrorLog:          slog.NewLogLogger(h.Log.Handler(), slog.LevelWarn),
		// otherwise OPTIONS * is a 200
		DisableGeneralOptionsHandler: true,
	}
}
