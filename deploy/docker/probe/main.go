// Command lockgw-probe asks a gateway how it is, in an image that has no shell and
// no curl. The kubelet and a container engine call it; the gateway's loopback
// address is out of reach for the first of them.
//
//	lockgw-probe /run/lockgw/http.sock /livez
//
// It exits with 0 if the answer is 200, else with 1 and the answer on stderr.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// patience is what a caller that names no limit itself gets.
const patience = 10 * time.Second

// mostText of an answer is shown.
const mostText = 4096

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: lockgw-probe SOCKET PATH, such as /run/lockgw/http.sock /livez")
		os.Exit(64)
	}
	if err := probe(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "lockgw-probe:", err)
		os.Exit(1)
	}
}

func probe(socket, path string) error {
	client := http.Client{
		Timeout: patience,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}},
	}
	answer, err := client.Get("http://lockgw" + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, mostText))
	return fmt.Errorf("%s: %s: %s", path, answer.Status, text)
}
