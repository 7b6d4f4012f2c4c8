package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/eb50146d/rls/test/demo-adaptive/loop"
)

// The plot's measures, in its own units.
const (
	left, right, top  = 48, 12, 56 // margins
	width, height     = 760, 150   // of a panel
	between           = 46         // panels
	most              = 350        // requests a second at the top of a panel
	grid              = 100        // requests a second between two lines
	secondsBetween    = 10         // marks of the time
	legend            = 24         // baseline
	legendLine, spell = 18, 116    // lengths
)

// style suits light and dark pages alike.
const style = `
text { font: 12px sans-serif; fill: #555 }
.title { font-weight: bold }
.grid { stroke: #8884; fill: none }
.slow { fill: #8882 }
.bears { stroke: #888; stroke-dasharray: 5 3 }
.time { stroke: #2a9d5c; stroke-width: 2 }
.late { stroke: #e04f3f; stroke-width: 2 }
.limit { stroke: #3b82d6; stroke-width: 4; stroke-opacity: .5 }
polyline, .key { fill: none }
@media (prefers-color-scheme: dark) { text { fill: #bbb } }
`

// curves are what a panel shows, the most important last. Envoy's own limit is of
// requests at once, which has no place on an axis of requests a second.
func curves(k loop.Kind) []curve {
	all := []curve{
		{"limit", "limit", func(s loop.Second) float64 { return s.Limit }},
		{"bears", "service bears", func(s loop.Second) float64 { return s.Capacity }},
		{"late", "late", func(s loop.Second) float64 { return float64(s.Late + s.Failed) }},
		{"time", "in time", func(s loop.Second) float64 { return float64(s.InTime) }},
	}
	if k == loop.Concurrency {
		return all[1:]
	}
	return all
}

type curve struct {
	class, label string
	of           func(loop.Second) float64
}

// plot draws the runs below one another, as SVG.
func plot(all []series, phase int) []byte {
	var b bytes.Buffer
	total := top + len(all)*(height+between)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">`, left+width+right, total)
	fmt.Fprintf(&b, "\n<title>Requests a second, by second of the run, under three limits</title>\n<style>%s</style>\n", style)
	for i, c := range curves(0) {
		x := left + i*spell
		fmt.Fprintf(&b, `<line class="key %s" x1="%d" y1="%d" x2="%d" y2="%d"/><text x="%d" y="%d">%s</text>`+"\n",
			c.class, x, legend-4, x+legendLine, legend-4, x+legendLine+6, legend, c.label)
	}
	for i, s := range all {
		panel(&b, s, phase, top+i*(height+between))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func panel(b *bytes.Buffer, s series, phase, y int) {
	n := len(s.seconds)
	at := func(second float64) float64 { return left + second*width/float64(n) }
	level := func(rate float64) float64 { return float64(y+height) - min(rate, most)*height/most }
	fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%v</text>`+"\n", left, y-8, s.kind)
	fmt.Fprintf(b, `<rect class="slow" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", at(float64(phase)), y, at(float64(phase))-left, height)
	for rate := 0; rate <= most; rate += grid {
		fmt.Fprintf(b, `<path class="grid" d="M%d %.1fh%d"/><text x="%d" y="%.1f" text-anchor="end">%d</text>`+"\n",
			left, level(float64(rate)), width, left-6, level(float64(rate))+4, rate)
	}
	for second := 0; second <= n; second += secondsBetween {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%d s</text>`+"\n", at(float64(second)), y+height+16, second)
	}
	for _, c := range curves(s.kind) {
		var points strings.Builder
		for i, second := range s.seconds {
			fmt.Fprintf(&points, " %.1f,%.1f", at(float64(i)+0.5), level(c.of(second)))
		}
		fmt.Fprintf(b, `<polyline class="%s" points="%s"/>`+"\n", c.class, strings.TrimSpace(points.String()))
	}
}
