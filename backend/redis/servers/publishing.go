package servers

import "fmt"

// Publishing is how Redisson's programs are told of a release, and how they tell:
// by PUBLISH, to those who SUBSCRIBE, by SPUBLISH, to those who SSUBSCRIBE, or both.
type Publishing string

const (
	publish  Publishing = "PUBLISH"
	spublish Publishing = "SPUBLISH"
	both     Publishing = "both"
)

// ReadPublishing reads Config.Publish. Redisson uses SPUBLISH in a cluster of Redis 7
// or later, which lockgw needs anyway, unless told otherwise.
func ReadPublishing(text string, cluster bool) (Publishing, error) {
	switch {
	case (text == "" || text == "auto") && cluster:
		return spublish, nil
	case text == "" || text == "auto" || text == "publish":
		return publish, nil
	case !cluster:
		return "", fmt.Errorf("backend.redis.publish: %s needs redis+cluster://, for Redisson uses SPUBLISH in a cluster alone", text)
	case text == "spublish":
		return spublish, nil
	case text == "both":
		return both, nil
	default:
		return "", fmt.Errorf("backend.redis.publish: %q is none of auto, publish, spublish, both", text)
	}
}

func (p Publishing) Plain() bool   { return p != spublish }
func (p Publishing) Sharded() bool { return p != publish }
