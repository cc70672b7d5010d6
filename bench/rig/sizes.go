package rig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/lockgw/lockgw/bench/figures"
)

// Sizes are what a gateway and the store occupy, in bytes.
type Sizes struct {
	Gateway, redis, journal, history int64
	keys                             int64 // of Redis
}

// Sizes asks what g and the store occupy now.
func (r *Rig) Sizes(ctx context.Context, g *Gateway) (s Sizes, err error) {
	if s.Gateway, err = g.Memory(); err != nil {
		return s, err
	}
	if s.redis, err = r.redisMemory(ctx); err != nil {
		return s, err
	}
	if s.keys, err = r.redis.DBSize(ctx).Result(); err != nil {
		return s, err
	}
	if s.journal, err = sizeOf(os.DirFS(g.state), "journal"); err != nil {
		return s, err
	}
	s.history, err = sizeOf(os.DirFS(g.state), "history")
	return s, err
}

// redisMemory is what Redis has allocated, in bytes.
func (r *Rig) redisMemory(ctx context.Context) (int64, error) {
	info, err := r.redis.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(info, "used_memory:")
	n, _, _ := strings.Cut(rest, "\r")
	return strconv.ParseInt(n, 10, 64)
}

// Less is what has come since o.
func (s Sizes) Less(o Sizes) Sizes {
	return Sizes{s.Gateway - o.Gateway, s.redis - o.redis, s.journal - o.journal, s.history - o.history, s.keys - o.keys}
}

// Each says what one of n costs.
func (s Sizes) Each(url string, n int) string {
	text := fmt.Sprintf("%.1f KiB of the gateway each", figures.KiB(s.Gateway, n))
	if url != "memory://" {
		text += fmt.Sprintf(", %.1f KiB of Redis", figures.KiB(s.redis, n))
	}
	return text + fmt.Sprintf(", %.1f KiB of the journal", figures.KiB(s.journal, n))
}

func (s Sizes) String() string {
	return fmt.Sprintf("gateway %.1f MiB, journal %.1f MiB, history %.1f MiB; Redis %.1f MiB, %d keys",
		figures.MiB(s.Gateway), figures.MiB(s.journal), figures.MiB(s.history), figures.MiB(s.redis), s.keys)
}

// sizeOf is how many bytes the files under a directory have; 0 where there is none.
func sizeOf(dir fs.FS, root string) (n int64, err error) {
	err = fs.WalkDir(dir, root, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return gone(err)
		}
		info, err := e.Info()
		if err == nil {
			n += info.Size()
		}
		return gone(err)
	})
	return n, err
}

// gone: files come and go meanwhile.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
