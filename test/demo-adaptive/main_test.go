package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/test/demo-adaptive/loop"
)

// runs are two seconds a phase.
func runs() []series {
	in := func(capacity float64, inTime, late int) loop.Second {
		return loop.Second{Offered: 300, InTime: inTime, Late: late, Refused: 300 - inTime - late, Capacity: capacity, Limit: 160, Reason: "growing"}
	}
	return []series{
		{loop.Adaptive, []loop.Second{in(200, 150, 0), in(200, 170, 0), in(80, 0, 40), in(80, 60, 20), in(200, 100, 0), in(200, 100, 0)}},
		{loop.Concurrency, make([]loop.Second, 6)},
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	header(&out, loop.Adaptive)
	row(&out, 7, runs()[0].seconds[3])
	header(&out, loop.Concurrency)
	summary(&out, runs(), 2)
	want, err := os.ReadFile("testdata/summary.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPlot: the plot is XML, with a panel for each run and its curves in it.
func TestPlot(t *testing.T) {
	t.Parallel()
	text := plot(runs(), 2)
	curves := 0
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			curves++
		}
	}
	if curves != 4+3 {
		t.Errorf("%d curves, want 4 of rls and 3 of Envoy", curves)
	}
	// 60 in time in the fourth of six seconds, on 760 by 150 for 350 a second.
	if point := "491.3,180.3"; !strings.Contains(string(text), point) {
		t.Errorf("no point %s in:\n%s", point, text)
	}
}

func TestSpeed(t *testing.T) {
	t.Parallel()
	for at, want := range map[time.Duration]float64{
		0: 1, 20*time.Second - 1: 1, 20 * time.Second: loop.Slow, 40*time.Second - 1: loop.Slow, 40 * time.Second: 1, time.Hour: 1,
	} {
		if got := speed(at, 20*time.Second); got != want {
			t.Errorf("after %v the speed is %v, want %v", at, got, want)
		}
	}
}
