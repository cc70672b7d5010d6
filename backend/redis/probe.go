package redis

import "time"

// ProbeAge is how long ago messages from Redis were last known to arrive; very long
// if they never were.
func (b *site) ProbeAge() time.Duration { return b.subscriber.ProbeAge() }
