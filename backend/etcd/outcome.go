package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lockgw/lockgw/backend"
)

// outcome is err as a Table tells it: ErrRefused if nothing was changed for certain, or
// ErrUnavailable.
func outcome(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, backend.ErrUnavailable), errors.Is(err, backend.ErrRefused):
		return err
	}
	if why := refusal(err); why != "" {
		return fmt.Errorf("%w: %s", backend.ErrRefused, why)
	}
	if st, ok := status.FromError(err); ok && st.Code() == codes.Unavailable && strings.HasPrefix(st.Message(), noConnection) {
		return unsent(err)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: etcd has not answered in time", backend.ErrUnavailable)
	}
	return fmt.Errorf("%w: etcd: %s", backend.ErrUnavailable, text(err))
}

// noConnection is how grpc begins to say that there was no connection to send a request by.
const noConnection = "last connection error: "

// refusal is why etcd has refused a request before it did anything of it; "": that is not
// certain.
func refusal(err error) string {
	for _, known := range []struct {
		err error
		why string
	}{
		{rpctypes.ErrNoSpace, "etcd has used up its quota and takes no writes; compact and defragment it, then `etcdctl alarm disarm`"},
		{rpctypes.ErrCorrupt, "etcd has found that its members differ (alarm CORRUPT) and takes no writes; replace the member that differs (`etcdctl endpoint hashkv --cluster`), then `etcdctl alarm disarm`"},
		{rpctypes.ErrRequestTooLarge, "the record is larger than etcd takes in one request (--max-request-bytes)"},
		{rpctypes.ErrTooManyOps, "the write has more parts than etcd takes in one transaction (--max-txn-ops)"},
		{errLearner, "the members of etcd that can be reached are learners, which take no requests; promote one (`etcdctl member promote`), or name others in backend.url"},
		{rpctypes.ErrTooManyRequests, "etcd has too many requests under way"},
		{rpctypes.ErrPermissionDenied, "etcd: permission denied; the user needs a role with readwrite on the prefix (see docs/etcd.md)"},
		{rpctypes.ErrUserEmpty, "etcd asks for a user; name one in backend.url"},
		{rpctypes.ErrAuthFailed, "etcd refuses the user or the password in backend.url"},
		{rpctypes.ErrInvalidAuthToken, "etcd does not know the login any more"},
		{rpctypes.ErrAuthOldRevision, "the users of etcd were changed just now"},
	} {
		if errors.Is(toEtcd(err), known.err) {
			return known.why
		}
	}
	return ""
}

// toEtcd is err as package rpctypes has it, also where grpc itself refuses to send what is too large.
func toEtcd(err error) error {
	var e rpctypes.EtcdError
	if errors.As(err, &e) {
		return e
	}
	if status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "trying to send message larger") {
		return rpctypes.ErrRequestTooLarge
	}
	return rpctypes.Error(err)
}

// unsent is err of a request that did not go out.
func unsent(err error) error {
	if why := refusal(err); why != "" {
		return backend.NotSent(why)
	}
	return fmt.Errorf("%w: etcd: %s", backend.ErrUnreachable, text(err))
}

// text is what err says, without the library's words around it.
func text(err error) string {
	s := err.Error()
	if st, ok := status.FromError(err); ok && st.Code() != codes.OK {
		s = st.Message()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		s = "no answer in time"
	}
	for _, around := range []string{backend.ErrUnavailable.Error() + ": ", backend.ErrUnreachable.Error() + ": ", "etcd: ", noConnection, "connection error: desc = ", "transport: "} {
		s = strings.ReplaceAll(s, around, "")
	}
	return strings.Trim(s, `"`)
}
