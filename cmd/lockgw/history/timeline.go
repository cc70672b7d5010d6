package history

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Sizes of the picture, in pixels.
const (
	leftEdge   = 150
	plotWidth  = 1200
	rowHeight  = 18
	barHeight  = 12
	faultSpace = 16
)

// maxRows bounds the picture; whoever is in the violation comes first.
const maxRows = 60

// picture is a part of a history.
type picture struct {
	v        Violation
	from, to time.Duration
	ops      []Op
	faults   []Fault
	rows     map[int]int // caller -> row
}

// Timeline writes a page that shows v among what else happened to the name at that
// time. It needs nothing but a browser.
func Timeline(w io.Writer, v Violation, ops []Op, faults []Fault) error {
	p := picture{v: v}
	p.choose(ops, faults)
	var b strings.Builder
	height := (len(p.rows)+2)*rowHeight + len(p.faults)*faultSpace
	fmt.Fprintf(&b, `<!DOCTYPE html><meta charset="utf-8"><title>%s of %s</title>
<style>body{font:13px sans-serif;margin:1em} text{font:11px monospace} rect:hover{stroke:#000}</style>
<h1>%s: %s</h1><p>%s</p>
<p><b style="color:#999">waits</b> <b style="color:#393">holds</b> <b style="color:#c22">in the violation</b>
<b style="color:#c90">faults</b>; point at a bar to read what it is. Times are seconds of CLOCK_BOOTTIME.</p>
<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d">
`, html.EscapeString(v.Rule), html.EscapeString(v.Name), html.EscapeString(v.Rule), html.EscapeString(v.Name),
		html.EscapeString(v.Text), leftEdge+plotWidth+20, height)
	p.axis(&b, height)
	p.drawFaults(&b)
	for _, o := range p.ops {
		p.drawOp(&b, o)
	}
	b.WriteString("</svg><pre>\n")
	for _, o := range p.ops {
		fmt.Fprintln(&b, html.EscapeString(o.String()))
	}
	b.WriteString("</pre>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// choose takes what lies near the violation, and gives each caller a row.
func (p *picture) choose(ops []Op, faults []Fault) {
	for i, o := range p.v.Ops {
		begin := o.Answer
		if slices.Contains([]string{"wait", "stall", "overtaken"}, p.v.Rule) {
			begin = o.Call
		}
		stop := max(o.Answer, o.until(), o.EndAnswer)
		if i == 0 {
			p.from, p.to = begin, stop
		}
		p.from, p.to = min(p.from, begin), max(p.to, stop)
	}
	around := max((p.to-p.from)/5, 20*time.Millisecond)
	p.from, p.to = p.from-around, p.to+around
	p.rows = map[int]int{}
	for _, o := range p.v.Ops {
		p.addRow(o)
	}
	for _, o := range ops {
		if o.Name == p.v.Name && o.Call < p.to && max(o.Answer, o.until()) > p.from && p.addRow(o) {
			p.ops = append(p.ops, o)
		}
	}
	slices.SortFunc(p.ops, func(a, b Op) int { return cmp.Compare(a.Answer, b.Answer) })
	for _, f := range faults {
		if f.From < p.to && f.To >= p.from {
			p.faults = append(p.faults, f)
		}
	}
}

func (p *picture) addRow(o Op) bool {
	if _, ok := p.rows[o.Caller]; !ok && len(p.rows) < maxRows {
		p.rows[o.Caller] = len(p.rows)
	}
	_, ok := p.rows[o.Caller]
	return ok
}

func (p *picture) x(at time.Duration) float64 {
	at = min(max(at, p.from), p.to)
	return leftEdge + float64(at-p.from)/float64(p.to-p.from)*plotWidth
}

func (p *picture) axis(b *strings.Builder, height int) {
	for i := range 11 {
		at := p.from + (p.to-p.from)*time.Duration(i)/10
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="14" y2="%d" stroke="#ddd"/><text x="%.1f" y="11" text-anchor="middle">%.3f</text>`+"\n",
			p.x(at), p.x(at), height, p.x(at), at.Seconds())
	}
	for _, caller := range slices.Sorted(maps.Keys(p.rows)) {
		fmt.Fprintf(b, `<text x="4" y="%d">caller %d</text>`+"\n", p.y(caller)+barHeight-2, caller)
	}
}

func (p *picture) y(caller int) int { return len(p.faults)*faultSpace + (p.rows[caller]+1)*rowHeight }

func (p *picture) drawFaults(b *strings.Builder) {
	for i, f := range p.faults {
		y := 16 + i*faultSpace
		p.bar(b, f.From, f.To, y, "#c90", 1, fmt.Sprintf("%s %s, %v to %v", f.Kind, f.Node, f.From, f.To))
		fmt.Fprintf(b, `<text x="4" y="%d">%s %s</text>`+"\n", y+barHeight-2, html.EscapeString(f.Kind), html.EscapeString(f.Node))
	}
}

func (p *picture) drawOp(b *strings.Builder, o Op) {
	p.bar(b, o.Call, o.Answer, p.y(o.Caller), "#999", 0.5, o.String())
	if o.Outcome != Granted {
		return
	}
	color := "#393"
	if slices.Contains(p.v.Ops, o) {
		color = "#c22"
	}
	from, to := o.Held()
	p.bar(b, from, to, p.y(o.Caller), color, 0.8, o.String())
}

func (p *picture) bar(b *strings.Builder, from, to time.Duration, y int, color string, opacity float64, title string) {
	width := max(p.x(to)-p.x(from), 1)
	fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" fill-opacity="%.1f"><title>%s</title></rect>`+"\n",
		p.x(from), y, width, barHeight, color, opacity, html.EscapeString(title))
}
