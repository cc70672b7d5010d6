package zookeeper

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"strings"
)

// paths are those of the znodes of a store. All are below root:
//
//	l/<hh>/<name>  the record of a name, for a minute after its last use, under one of 256
//	               parents, because a parent's children have to fit into one answer. The value
//	               of the parent is a fence that none of a deleted record was above; it is
//	               written with each such deletion
//	n/<session>    is there as long as the session of a gateway
//	m/<node>       is there as long as the node listens; a write to it is a message to the node
//	p/<node>       is written every ten seconds, so that it shows if the store goes back
//	birth          is written if it has
type paths struct{ root, names string }

func (p paths) records() string       { return p.root + "/l" }
func (p paths) alive(s string) string { return p.root + "/n/" + s }
func (p paths) mail(n string) string  { return p.root + "/m/" + escape(n) }
func (p paths) pulse(n string) string { return p.root + "/p/" + escape(n) }
func (p paths) birth() string         { return p.root + "/birth" }

// bucket is the parent of a name's record.
func (p paths) bucket(name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.names + name)) // it never fails
	return fmt.Sprintf("%s/l/%02x", p.root, h.Sum32()>>24^h.Sum32()&0xff)
}

func (p paths) record(name string) string { return p.bucket(name) + "/" + escape(p.names+name) }

// name is that of a record of which the last part of the path is child. false: it is none of
// lockgw's, or has another prefix.
func (p paths) name(child string) (string, bool) {
	full, ok := unescape(child)
	if !ok {
		return "", false
	}
	return strings.CutPrefix(full, p.names)
}

// asWritten is for the bytes that stand in names in another way than url.QueryEscape writes them.
var asWritten = strings.NewReplacer("%3A", ":", "~", "%7E", "+", "%20")

// escape makes any name one part of a path: ZooKeeper takes no /, nor some of Unicode, and
// neither . nor .. alone.
func escape(name string) string {
	part := asWritten.Replace(url.QueryEscape(name))
	if rest, ok := strings.CutPrefix(part, "."); ok {
		return "%2E" + rest
	}
	return part
}

// unescape reads what escape made. Each name has one way to be written.
func unescape(part string) (name string, ok bool) {
	name, err := url.PathUnescape(part)
	return name, err == nil && escape(name) == part
}
