package socket

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/lockgw/lockgw/socket/resp"
)

// A way is how a client takes a lock, and what it then lives by.
type way string

const (
	byConnection way = "connection" // LOCK
	byStream     way = "stream"     // POST hold, on a connection that was used before
	byProcess    way = "process"    // PUT bind=pid, on a connection that it then closes
	byKeepalive  way = "keepalive"  // PUT in a session with a keepalive
	byMaxHold    way = "max_hold"   // PUT max_hold
)

// short is the keepalive, and the max_hold, in seconds.
const short = "0.4"

// What the program that run starts is told in its environment.
const clientWay, clientSocket, clientHeir = "LOCKGW_TEST_WAY", "LOCKGW_TEST_SOCKET", "LOCKGW_TEST_HEIR"

// victim is that program.
type victim struct {
	net.Conn
	http http.Client
}

func victimMain() error {
	nc, err := net.Dial("unix", os.Getenv(clientSocket))
	if err != nil {
		return err
	}
	v := &victim{Conn: nc}
	dial := func(context.Context, string, string) (net.Conn, error) { return nc, nil }
	v.http.Transport = &http.Transport{DialContext: dial}
	if os.Getenv(clientHeir) == "true" {
		if err := v.bequeath(); err != nil {
			return err
		}
	}
	if err := v.take(way(os.Getenv(clientWay))); err != nil {
		return err
	}
	fmt.Println("held")
	_, _ = os.Stdin.Read(make([]byte, 1))
	return nil
}

// bequeath starts a child that keeps the connection open.
func (v *victim) bequeath() error {
	f, err := v.Conn.(*net.UnixConn).File()
	if err != nil {
		return err
	}
	heir := exec.Command("sleep", "600")
	heir.ExtraFiles = []*os.File{f}
	if err := heir.Start(); err != nil {
		return err
	}
	fmt.Println("heir", heir.Process.Pid)
	// both descriptors are one to the kernel, and exec has made it a blocking one
	if err := syscall.SetNonblock(int(f.Fd()), true); err != nil {
		return err
	}
	return f.Close()
}

func (v *victim) take(w way) error {
	const lock = "/v1/locks/a"
	switch w {
	case byConnection:
		return v.lock()
	case byStream:
		if _, err := v.ask("GET", "/livez", "", ""); err != nil {
			return err
		}
		return v.follow(lock + "/hold")
	case byProcess:
		if _, err := v.ask("PUT", fmt.Sprintf("%s?wait=60s&bind=pid:%d", lock, os.Getpid()), "", ""); err != nil {
			return err
		}
		return v.Close()
	case byKeepalive:
		token, err := v.ask("POST", "/v1/sessions", "", `{"keepalive":`+short+`}`)
		if err == nil {
			_, err = v.ask("PUT", lock+"?wait=60s", token, "")
		}
		return err
	default:
		_, err := v.ask("PUT", lock+"?wait=60s&max_hold="+short, "", "")
		return err
	}
}

func (v *victim) lock() error {
	if _, err := v.Write([]byte(encode("LOCK", "a", "WAIT", "60"))); err != nil {
		return err
	}
	reply, err := resp.ReadReply(bufio.NewReader(v))
	if fence, ok := reply.(int64); err == nil && (!ok || fence == 0) {
		err = fmt.Errorf("LOCK = %v, want a fence", reply)
	}
	return err
}

// ask sends a request and returns the token in its answer.
func (v *victim) ask(method, path, token, body string) (string, error) {
	answer, err := v.send(method, path, token, body)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	var told struct{ Token string }
	return told.Token, json.Unmarshal(b, &told)
}

// follow opens a stream, and returns when its lock is acquired.
func (v *victim) follow(path string) error {
	answer, err := v.send("POST", path, "", "")
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "event: acquired") {
			return nil
		}
	}
	return fmt.Errorf("%s has ended without the lock", path)
}

func (v *victim) send(method, path, token, body string) (*http.Response, error) {
	r, err := http.NewRequest(method, "http://lockgw"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := v.http.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= 300 {
		b, _ := io.ReadAll(answer.Body)
		return nil, fmt.Errorf("%s %s: %s %s", method, path, answer.Status, b)
	}
	return answer, nil
}
