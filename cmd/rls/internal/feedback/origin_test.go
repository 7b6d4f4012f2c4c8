package feedback

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	accesslogpb "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
)

// TestOrigin: what a caller cannot choose is told from what it can.
func TestOrigin(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		from   who
		origin string
		agent  string // what one is called that calls itself "n"
	}{
		{"address", who{address: "192.0.2.1:5"}, "192.0.2.1", "n"},
		{"the same, IPv4 in IPv6", who{address: "[::ffff:192.0.2.1]:6"}, "192.0.2.1", "n"},
		{"IPv6", who{address: "[2001:db8::1]:5"}, "2001:db8::1", "n"},
		{"IPv6, whose interface has a name of this machine's", who{address: "[fe80::1%eth0]:5"}, "fe80::1", "n"},
		{"socket", who{address: "@"}, "socket", "n"},
		{"identity", who{"spiffe://mesh/edge", "192.0.2.1:5"}, "certificate spiffe://mesh/edge", ""},
		{"identity like an address", who{"192.0.2.1", "192.0.2.2:5"}, "certificate 192.0.2.1", ""},
		{"identity like a socket", who{"socket", "192.0.2.2:5"}, "certificate socket", ""},
	} {
		if got := row.from.origin(); got != row.origin {
			t.Errorf("%s: origin %q, want %q", row.name, got, row.origin)
		}
		if got := row.from.agent("n"); got.name != row.agent || got.origin != row.origin {
			t.Errorf("%s: agent %q, want %q", row.name, got, row.agent)
		}
		if got := row.from.envoy("n"); got.name != "n" || got.origin != row.origin {
			t.Errorf("%s: Envoy %q, want n", row.name, got)
		}
	}
}

// TestWhole: identities stay apart, whatever has to be left out of them.
func TestWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 128)
	if got := whole(long); got != long {
		t.Errorf("%q, want all of it", got)
	}
	kept := map[string]string{}
	for _, identity := range []string{long + "a", long + "b", "a\x00b", "a\x00c", "a\uFFFDb", "a\xffb", "a\xfeb", "a", "a" + strings.Repeat("é", 200), "\xff" + long} {
		got := whole(identity)
		if other, taken := kept[got]; taken {
			t.Errorf("%q and %q are both %q", identity, other, got)
		}
		kept[got] = identity
		if len(got) > maxName || !utf8.ValidString(got) || strings.Contains(got, "\x00") {
			t.Errorf("%q of %q cannot be kept", got, identity)
		}
	}
	if got := whole(long + "a"); !strings.HasPrefix(got, "éé") {
		t.Errorf("%q does not show whose it is", got)
	}
}

// TestKeys: reporters of different origins stay apart on the way to other replicas.
func TestKeys(t *testing.T) {
	t.Parallel()
	edge := who{"spiffe://mesh/edge", "192.0.2.1:5"}
	keys := map[string]key{}
	for _, k := range []key{
		edge.envoy("a/b"), who{"spiffe://mesh/edge/a", "192.0.2.1:5"}.envoy("b"), edge.envoy(""), edge.envoy("\x00"), edge.envoy("b\x00a/"),
		who{"spiffe://mesh/edge\x00a/", ""}.envoy("b"), who{"", "192.0.2.1:5"}.agent("x"), who{"", "192.0.2.2:5"}.agent("x"), who{"192.0.2.1", ""}.envoy("x"),
	} {
		if other, taken := keys[k.String()]; taken {
			t.Errorf("%+v and %+v are both %q", k, other, k)
		}
		keys[k.String()] = k
	}
	if a, b := edge.agent("x").String(), (who{"spiffe://mesh/edge", "192.0.2.9:7"}).agent("y").String(); a != b {
		t.Errorf("%q and %q have one certificate", a, b)
	}
}

// TestNobodySpeaksForAnother: a name is the caller's own, whatever others report
// under it.
func TestNobodySpeaksForAnother(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name        string
		honest, not who
	}{
		{"addresses", who{"", "192.0.2.1:5"}, who{"", "192.0.2.66:5"}},
		{"a certificate and an address", who{"192.0.2.1", "192.0.2.1:5"}, who{"", "192.0.2.1:5"}},
		{"a socket and an address", who{"", "@"}, who{"", "192.0.2.1:5"}},
	} {
		w := newWorld(t, "a")
		for i := range 5 {
			w.wait(time.Second)
			lie := w.told("honest", math.MaxUint64-uint64(i%2), -maxAhead, time.Millisecond)
			lie.reporter = row.not.agent("honest")
			good := w.told("honest", uint64(i)+1, 0, time.Second)
			good.reporter = row.honest.agent("honest")
			if lied, got := w.add(lie), w.add(good); lied != Accepted || got != Accepted {
				t.Errorf("%s: second %d: the liar's is %v, the other's %v", row.name, i, lied, got)
			}
		}
		if taken := w.Take("a"); len(taken) != 2 {
			t.Errorf("%s: %d reporters", row.name, len(taken))
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
	w.want("a", second("0", 0, 1, 10))
}

// TestOneEnvoyOneReporter: the threads of one have a stream each, with a node's id
// or without.
func TestOneEnvoyOneReporter(t *testing.T) {
	t.Parallel()
	for _, identity := range []string{"", "spiffe://mesh/edge"} {
		for _, id := range []string{"", "envoy"} {
			w := newWorld(t, "a")
			for _, address := range []string{"192.0.2.1:5", "192.0.2.1:6"} {
				w.streamOf(who{identity, address}).send(tenth, message(id, endedAt(tenth)))
			}
			w.wait(2 * time.Second)
			w.want("a", second(id, 0, 1, 2))
		}
	}
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
