package redis

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"
)

// A doubt that comes while a server is tried begins no second try beside that one, which would
// find its record changed, and what the one finds does not count.
func TestDoubtWhileTried(t *testing.T) {
	c := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1"}) // to which nothing is sent
	defer c.Close()
	var s trials
	for name, doubt := range map[string]func(){"messages were interrupted": s.forget, "it has another id": func() { s.met(c, "other") }} {
		t.Run(name, func(t *testing.T) {
			x := s.trial(c)
			s.met(c, "one")
			_, began, _ := x.known()
			doubt()
			if s.trial(c) != x {
				t.Error("it is tried a second time at once")
			}
			x.learn(began, nil)
			if passed, _, _ := x.known(); passed {
				t.Error("what was found before the doubt counts")
			}
			_, now, _ := x.known()
			x.learn(now, nil)
			if passed, _, _ := x.known(); !passed {
				t.Error("what was found after it does not count")
			}
			if s.forget(); s.failed(c) != nil {
				t.Error("it is unfit")
			}
		})
	}
}
