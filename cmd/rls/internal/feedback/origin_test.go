package feedback

import (
	"strconv"
	"strings"
	"testing"
	"time"

	accesslogpb "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
)

// TestOrigin: what a caller cannot choose is told from what it can.
func TestOrigin(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 200)
	for _, row := range []struct {
		name         string
		from         who
		origin, node string // of the node "n"
	}{
		{"address", who{address: "192.0.2.1:5"}, "192.0.2.1", "n"},
		{"the same, IPv4 in IPv6", who{address: "[::ffff:192.0.2.1]:6"}, "192.0.2.1", "n"},
		{"IPv6", who{address: "[2001:db8::1]:5"}, "2001:db8::1", "n"},
		{"socket", who{address: "@"}, "", "n"},
		{"identity", who{"spiffe://mesh/edge", "192.0.2.1:5"}, "spiffe://mesh/edge", "spiffe://mesh/edge/n"},
		{"long identity", who{long, "192.0.2.1:5"}, long[:maxName], long[:maxName]},
	} {
		if got := row.from.origin(); got != row.origin {
			t.Errorf("%s: origin %q, want %q", row.name, got, row.origin)
		}
		if got := row.from.node("n"); got != row.node {
			t.Errorf("%s: node %q, want %q", row.name, got, row.node)
		}
	}
}

// TestOneStreamOneReporter: an Envoy that changes its node's id is who it was.
func TestOneStreamOneReporter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	s := w.streamOf(who{"spiffe://mesh/edge", "192.0.2.1:5"})
	for i := range 10 {
		s.send(tenth, message(strconv.Itoa(i), endedAt(tenth)))
	}
	w.wait(2 * time.Second)
	w.want("a", second("spiffe://mesh/edge/0", 0, 1, 10))
}

// TestOneEnvoyOneReporter: the threads of one have a stream each.
func TestOneEnvoyOneReporter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	for _, address := range []string{"192.0.2.1:5", "192.0.2.1:6"} {
		w.streamOf(who{"spiffe://mesh/edge", address}).send(tenth, message("envoy", endedAt(tenth)))
	}
	w.wait(2 * time.Second)
	w.want("a", second("spiffe://mesh/edge/envoy", 0, 1, 2))
}

// TestFullOrigin: a caller that makes up names leaves room for others, and has room
// again when its own are silent.
func TestFullOrigin(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name        string
		from, other who
	}{
		{"addresses", who{"", "192.0.2.1:5"}, who{"", "192.0.2.2:5"}},
		{"identities", who{"spiffe://mesh/edge", "192.0.2.1:5"}, who{"spiffe://mesh/app", "192.0.2.1:5"}},
	} {
		w := newWorld(t, "a")
		log := func(from who, id string) {
			t.Helper()
			w.streamOf(from).send(w.now.Sub(epoch()), message(id, endedAt(w.now.Sub(epoch()))))
		}
		has := func(what string, reporters int, full uint64) {
			t.Helper()
			if n, skipped := w.Reporters("a"), w.Stats().Skipped[SkipFull]; n != reporters || skipped != full {
				t.Errorf("%s, %s: %d reporters and %d skipped, want %d and %d", row.name, what, n, skipped, reporters, full)
			}
		}
		for i := range maxOfOrigin + 3 {
			log(row.from, strconv.Itoa(i))
		}
		has("too many", maxOfOrigin, 3)
		log(row.other, "honest")
		log(row.from, "7")
		has("another and an old one", maxOfOrigin+1, 3)
		w.wait(time.Minute + time.Second)
		log(row.from, "new")
		has("a minute later", 1, 3)
	}
}

// TestFullReports: names in reports are made up as easily.
func TestFullReports(t *testing.T) {
	t.Parallel()
	s := serve(t, newWorld(t, "a"), loopback, nil, nil, nil)
	for i := range maxOfOrigin {
		if answer, err := s.tell("a", strconv.Itoa(i), 1); err != nil || answer.GetDropped() != "" {
			t.Fatalf("%v, %v, want that it counts", answer, err)
		}
	}
	answer, err := s.tell("a", "one more", 1)
	if err != nil || answer.GetDropped() != "its target has 1000 reporters already, or 100 of your certificate or address" {
		t.Errorf("%v, %v, want that it is one too many", answer, err)
	}
}

// TestDrop: an idle stream holds little, however large its last message was, and
// nothing of the targets.
func TestDrop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	s := w.stream("x")
	for _, n := range []int{keptSamples + 1, 1} {
		many := make([]*accesslogpb.HTTPAccessLogEntry, n)
		for i := range many {
			many[i] = endedAt(0)
		}
		s.send(tenth, message("", many...))
		if c := cap(s.samples); len(s.samples) > 0 || c > keptSamples {
			t.Errorf("%d samples and room for %d stay", len(s.samples), c)
		}
		for _, p := range s.samples[:cap(s.samples)] {
			if p.target != nil {
				t.Error("a target stays")
			}
		}
	}
	if cap(s.samples) == 0 {
		t.Error("what is small goes, too")
	}
	s.samples = make([]placed, 0, keptSamples+1) // as after a message without samples
	s.book()
	if s.samples != nil {
		t.Error("the room stays where there was nothing to book")
	}
}
