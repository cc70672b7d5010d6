package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/lockgw/lockgw/socket/client"
)

// path is where the gateway has its socket, that of a machine at /run/lockgw/resp.sock.
var path string

// A program that does something that one at a time may do.
func Example() {
	ctx := context.Background()
	c, err := client.Dial(ctx, path, client.Options{
		OnNotice: func(n client.Notice) { log.Printf("%s is %s: %s", n.Lock, n.Kind, n.Reason) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close() // gives back what is still held

	hold, err := c.Lock(ctx, "nightly", client.LockOptions{Wait: time.Minute, Note: "backup"})
	switch {
	case errors.Is(err, client.ErrNotAcquired):
		fmt.Println("somebody else does it")
		return
	case err != nil:
		log.Fatal(err)
	}
	fmt.Println(hold.Name, hold.State, hold.Fence > 0)

	left, err := c.Unlock(ctx, "nightly", client.UnlockOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("entries left:", left)

	// Output:
	// nightly held true
	// entries left: 0
}

// A session with a token goes on when a connection ends, and any connection can join it.
func ExampleClient_NewSession() {
	ctx := context.Background()
	a, err := client.Dial(ctx, path, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	token, err := a.NewSession(ctx, 10*time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := a.Lock(ctx, "report", client.LockOptions{}); err != nil {
		log.Fatal(err)
	}
	a.Close()

	b, err := client.Dial(ctx, path, client.Options{Token: token})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	session, err := b.Session(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, hold := range session.Holds {
		fmt.Println("still held:", hold.Name)
	}
	if err := b.EndSession(ctx); err != nil {
		log.Fatal(err)
	}
	_, err = client.Dial(ctx, path, client.Options{Token: token})
	fmt.Println("the session has ended:", errors.Is(err, client.ErrNoSession))

	// Output:
	// still held: report
	// the session has ended: true
}
