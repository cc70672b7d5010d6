package redlock

import (
	"log/slog"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Config of a store.
type Config struct {
	URL string // redlock://h1,h2,h3
	// Password says, for each connection, which one belongs to the user of URL now; nil: that in URL.
	Password  func() string
	KeyPrefix string        // before every lock name
	FenceTTL  time.Duration // how long a fence counter outlives its last use; 0: none is made
	Node      backend.Node
	Log       *slog.Logger // nil: none
}

// CheckURL says what is wrong with a redlock:// URL.
func CheckURL(url string) error {
	_, err := parseAddress(url)
	return err
}
