package api

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// writeTimeout is how long a client may take to read an answer, or one event.
const writeTimeout = 10 * time.Second

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, status int, v any) {
	write(w, status, "application/json", encode(v))
}

// encode is v as a line of JSON. It panics for a type that has no JSON, which is
// a defect and not a matter of what v contains.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}

// write answers with body. An error would have nobody to be told to: the client
// is gone.
func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	deadline(w)
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// deadline limits the next write only: a server-wide limit would count from the
// request, and cut off those who wait for a lock.
func deadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // not every ResponseWriter has one
}
