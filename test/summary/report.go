package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// event is what go test -json prints: see go doc test2json, and go help buildjson
// for the actions that begin with build.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// name is the key of the test, or of the package when Test is empty.
type name struct{ pkg, test string }

// report prints what failed, and counts. A test with subtests is not counted, the
// subtests are.
type report struct {
	out                     io.Writer
	output                  map[name][]string
	parents                 map[name]bool
	passed, failed, skipped int // tests
	broken                  int // packages that failed, for whatever reason
	exitFailed              bool
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[name][]string{}, parents: map[name]bool{}}
}

// read takes events until in ends. Lines that are not events are passed on.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if len(line) > 0 {
			if json.Unmarshal(line, &e) == nil {
				r.add(e)
			} else {
				r.print(string(line))
			}
		}
		switch err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}

func (r *report) add(e event) {
	key := name{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		r.print(e.Output)
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") {
			r.output[key] = append(r.output[key], e.Output)
		}
	case "run":
		if parent := strings.LastIndexByte(e.Test, '/'); parent >= 0 {
			r.parents[name{e.Package, e.Test[:parent]}] = true
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(e)
		}
	}
}

func (r *report) endTest(e event) {
	key := name{e.Package, e.Test}
	leaf := !r.parents[key]
	switch {
	case e.Action == "pass" && leaf:
		r.passed++
	case e.Action == "skip":
		r.skipped++
		r.print(r.output[key]...)
	case e.Action == "fail":
		if leaf {
			r.failed++
		}
		r.print(r.output[key]...)
	}
	delete(r.output, key)
}

// endPackage prints the closing line of a package; of a failed one all that is
// left: a panic or the time limit ends tests without an event of their own.
func (r *report) endPackage(e event) {
	key := name{e.Package, ""}
	switch e.Action {
	case "fail":
		r.broken++
		for k, lines := range r.output {
			if k.pkg == e.Package && k.test != "" {
				r.print(lines...)
				delete(r.output, k)
			}
		}
		r.print(r.output[key]...)
	case "pass":
		for _, line := range r.output[key] {
			if strings.HasPrefix(line, "ok ") {
				r.print(line)
			}
		}
	}
	delete(r.output, key)
}

func (r *report) print(lines ...string) {
	for _, line := range lines {
		io.WriteString(r.out, line) //nolint:errcheck // the terminal's fault cannot be reported to the terminal
	}
}

// ok tells whether tests ran, all of them, and none failed.
func (r *report) ok() bool {
	return r.passed > 0 && r.failed+r.skipped+r.broken == 0 && !r.exitFailed
}

func (r *report) verdict() string {
	if r.ok() {
		return fmt.Sprintf("%d tests passed", r.passed)
	}
	return fmt.Sprintf("%d tests passed, %d failed, %d skipped, in %d packages something failed",
		r.passed, r.failed, r.skipped, r.broken)
}
