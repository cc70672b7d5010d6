package sqltable

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// These stand in the file, at its end, before the id of a run that was trusted, and before how far the
// database had come in the newest run; no id is like them.
const (
	passedWord = "trusted"
	farWord    = "far"
)

// farFor is how old the file may be that tells how far the database had come: of a gateway that was away
// for days the database forgets that by itself.
const farFor = 24 * time.Hour

// remember reads what was known before. Without, this node begins anew.
func (r *Runs) remember() {
	text, _ := os.ReadFile(r.cfg.File)
	r.known = strings.Fields(string(text))
	far, _ := strconv.ParseInt(r.last(farWord), 10, 64)
	r.passed = r.last(passedWord)
	if info, err := os.Stat(r.cfg.File); err == nil && time.Since(info.ModTime()) < farFor {
		r.farest = far
	}
}

// last takes from the end of what was read what stands behind word; "": it is not there.
func (r *Runs) last(word string) (value string) {
	if n := len(r.known); n > 1 && r.known[n-2] == word {
		r.known, value = r.known[:n-2], r.known[n-1]
	}
	return value
}

// textLocked is what the file has.
func (r *Runs) textLocked() string {
	text := strings.Join(r.known, "\n") + "\n"
	if r.passed != "" {
		text += passedWord + " " + r.passed + "\n"
	}
	if r.farest > 0 {
		text += farWord + " " + strconv.FormatInt(r.farest, 10) + "\n"
	}
	return text
}

// Close has the next process know how far the database has come: it may be put back to an earlier state
// before that begins.
func (r *Runs) Close() {
	r.mu.Lock()
	text, seen := r.textLocked(), len(r.known) > 0
	r.mu.Unlock()
	if seen {
		r.save(text)
	}
}

// save writes the file, where there is one.
func (r *Runs) save(text string) {
	if r.cfg.File == "" {
		return
	}
	if err := backend.Save(r.cfg.File, text); err != nil {
		r.cfg.Log.Warn("after its next start this gateway may trust a "+r.cfg.Product+" too early", "err", err)
	}
}
