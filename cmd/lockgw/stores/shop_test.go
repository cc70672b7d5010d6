package stores

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/socket/client"
)

const (
	stock  = 200
	buyers = 12
)

// A door lets one buyer in at a time.
type door interface {
	enter(ctx context.Context) (fence uint64, err error)
	leave(ctx context.Context) error
}

// open lets everybody in.
type open struct{}

func (open) enter(context.Context) (uint64, error) { return 0, nil }
func (open) leave(context.Context) error           { return nil }

// line is a door by resp.sock.
type line struct{ *caller }

func (d line) enter(ctx context.Context) (uint64, error) {
	h, err := d.Lock(ctx, "stock", client.LockOptions{Wait: e2e.Patience})
	return h.Fence, err
}

func (d line) leave(ctx context.Context) error {
	_, err := d.Unlock(ctx, "stock", client.UnlockOptions{})
	return err
}

// web is a door by http.sock, with a session for each grant.
type web struct {
	g     *gateway
	token string
}

func (d *web) enter(ctx context.Context) (uint64, error) {
	var got struct {
		Token string
		Fence uint64
	}
	err := d.call(ctx, http.MethodPut, "?wait=60s", &got)
	d.token = got.Token
	return got.Fence, err
}

func (d *web) leave(ctx context.Context) error {
	err := d.call(ctx, http.MethodDelete, "", nil)
	d.token = ""
	return err
}

func (d *web) call(ctx context.Context, method, query string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://lockgw/v1/locks/stock"+query, nil)
	if err != nil {
		return err
	}
	if d.token != "" {
		req.Header.Set("Authorization", "Bearer "+d.token)
	}
	resp, err := d.g.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || into == nil && resp.StatusCode == http.StatusOK {
		return err
	}
	if resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("%s: %d %s", method, resp.StatusCode, body)
	}
	return json.Unmarshal(body, into)
}

// A sale is one thing that a buyer believes to have bought.
type sale struct {
	item  int64 // things are numbered by the stock that the buyer saw
	fence uint64
}

// sell has buyers read the stock, think, and write it back, until it is gone: the bug that a
// lock is for.
func sell(t *testing.T, doors []door) (sales []sale, crowd int64) {
	t.Helper()
	var left, inside, most atomic.Int64
	left.Store(stock)
	var mu sync.Mutex // guards sales
	var wg sync.WaitGroup
	for _, d := range doors {
		wg.Go(func() {
			for more := true; more; {
				fence, err := d.enter(t.Context())
				if err != nil {
					t.Errorf("somebody who buys: %v", err)
					return
				}
				if n := inside.Add(1); n > most.Load() {
					most.Store(n)
				}
				item := left.Load()
				if more = item > 0; more {
					<-time.After(50 * time.Microsecond)
					left.Store(item - 1)
					mu.Lock()
					sales = append(sales, sale{item, fence})
					mu.Unlock()
				}
				inside.Add(-1)
				if err := d.leave(t.Context()); err != nil {
					t.Errorf("somebody who has bought: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	return sales, most.Load()
}

// Were the doors of no use, the exact sales with them would say nothing.
func TestOpenDoorsOversell(t *testing.T) {
	if sales, crowd := sell(t, slices.Repeat([]door{open{}}, buyers)); len(sales) <= stock || crowd < 2 {
		t.Errorf("%d of %d sold, %d at once", len(sales), stock, crowd)
	}
}

// sells exactly what there is, with buyers at all gateways, by both sockets.
func sells(t *testing.T, gs ...*gateway) {
	t.Helper()
	var doors []door
	for i := range buyers {
		if g := gs[i%len(gs)]; i/len(gs)%2 == 0 {
			doors = append(doors, line{g.dial(t, "")})
		} else {
			doors = append(doors, &web{g: g})
		}
	}
	began := time.Now()
	sales, crowd := sell(t, doors)
	t.Logf("%d sold in %v", len(sales), time.Since(began).Round(time.Millisecond))
	slices.SortFunc(sales, func(a, b sale) int { return int(b.item - a.item) })
	for i, s := range sales {
		if s.item != int64(stock-i) || s.fence == 0 || i > 0 && s.fence <= sales[i-1].fence {
			t.Fatalf("sale %d is of %d with fence %d, after %+v", i, s.item, s.fence, sales[max(i-1, 0)])
		}
	}
	if len(sales) != stock || crowd != 1 {
		t.Errorf("%d of %d sold, %d buyers at once", len(sales), stock, crowd)
	}
}
