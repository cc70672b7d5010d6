package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/session/peer"
)

// writeTimeout is how long a client may take to read an answer, or one event.
const writeTimeout = 10 * time.Second

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, status int, v any) {
	write(w, status, "application/json", encode(v))
}

// encode is v as a line of JSON. It panics for a type that has no JSON form: that is a
// defect in the code, whatever v contains.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}

// sent hands what was written to the kernel, and says whether the kernel took it. If a
// client has sent more than its request, its hang-up does not end the request's context.
func sent(w gin.ResponseWriter) bool {
	below, ok := w.(interface{ Unwrap() http.ResponseWriter }) // gin's own Flush does not tell
	return !ok || http.NewResponseController(below.Unwrap()).Flush() == nil
}

// write answers with body. It ignores errors: they mean that the client is gone.
func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	deadline(w)
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// deadline limits the next write only. A limit for the whole server would begin with the
// request, and cut off clients that wait for a lock.
func deadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // not every ResponseWriter has one
}

// errHungUp: nobody is left to be answered, though the request's context is not done.
var errHungUp = errors.New("the client has hung up")

// present returns errHungUp if the client is gone, so that nothing is granted to it. If a
// client has sent a byte too many, net/http does not read the connection any more and does not
// see its end, and over TCP the answer could still be written.
func present(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if peer.HungUp(identityOf(ctx).conn) {
		return errHungUp
	}
	return nil
}
