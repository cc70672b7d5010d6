package process

import (
	"context"
	"fmt"
	"net"
	"net/http"
)

// Over makes an HTTP client that talks to a Unix socket, as curl --unix-socket, whatever the
// host of a URL. It keeps as many as idle connections for further requests; 0: none.
func Over(socket string, idle int) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: idle == 0, MaxIdleConnsPerHost: idle,
	}}
}

// Serves: the gateway that client talks to answers, and says that its store does. Otherwise the
// error is why not.
func Serves(ctx context.Context, client *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://lockgw/readyz", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz: %s", answer.Status)
	}
	return nil
}
