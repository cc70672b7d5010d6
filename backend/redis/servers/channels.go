package servers

import (
	"fmt"
	"strings"
)

// KeyspaceChannel is where Redis tells what becomes of a key.
func KeyspaceChannel(db int, key string) string {
	return fmt.Sprintf("%s%d__:%s", keyspacePrefix, db, key)
}

const keyspacePrefix = "__keyspace@"

// homeOf is a key that is on the server where channel is heard.
func homeOf(channel string) string {
	if _, key, ok := strings.Cut(channel, "__:"); ok && strings.HasPrefix(channel, keyspacePrefix) {
		return key
	}
	return channel
}

// of is how channel has to be listened to: what becomes of a key comes by PUBLISH.
func (p Publishing) of(channel string) Publishing {
	if strings.HasPrefix(channel, keyspacePrefix) {
		return publish
	}
	return p
}
