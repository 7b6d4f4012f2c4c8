package descriptors_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/eb50146d/rls/pkg/descriptors"
)

// values makes rules of one key, with requests_per_unit from 1 in the order of
// their values; "" is the rule of the key alone.
func values(key string, all ...string) string {
	var b strings.Builder
	b.WriteString("domain: d\ndescriptors:\n")
	for i, v := range all {
		fmt.Fprintf(&b, "- {key: %q, value: %q, rate_limit: {requests_per_unit: %d, unit: day}}\n", key, v, i+1)
	}
	return b.String()
}

// limitOf is the requests_per_unit of the rule found; 0 without a rule.
func limitOf(r *descriptors.Rule) uint32 {
	if r == nil {
		return 0
	}
	return r.RequestsPerUnit
}

// TestWM01 has prefix, suffix, middle and several stars.
func TestWM01(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		pattern, value string
		want           bool
	}{
		{"/api/*", "/api/", true},
		{"/api/*", "/api/v1", true},
		{"/api/*", "/api", false},
		{"/api/*", "x/api/v1", false},
		{"/api/*", "/API/v1", false},
		{"*.example.com", "a.example.com", true},
		{"*.example.com", ".example.com", true},
		{"*.example.com", "example.com", false},
		{"*.example.com", "a.example.com.org", false},
		{"a*b*c", "abc", true},
		{"a*b*c", "a1b2c", true},
		{"a*b*c", "abbc", true},
		{"a*b*c", "acb", false},
		{"a*b*c", "ac", false},
		{"ab*ba", "abba", true},
		{"ab*ba", "aba", false},
		{"ab*ba", "abxba", true},
		{"a*bc*cd", "abcd", false},
		{"a*bc*cd", "abccd", true},
		{"*", "", true},
		{"*", "anything\xff", true},
		{"**", "", true},
		{"*a**b*", "xaxbx", true},
		{"*a**b*", "xbxax", false},
		{"*ab*ab*", "ab", false},
		{"*ab*ab*", "abab", true},
		{"*aba*", "abaaba", true},
		{"/a*", "/a" + strings.Repeat("x", 70_000), true},
		{"*z*", strings.Repeat("x", 70_000), false},
	} {
		t.Run(row.pattern+" "+row.value[:min(len(row.value), 20)], func(t *testing.T) {
			t.Parallel()
			d := compile(t, values("k", row.pattern)).Domain("d")
			if got := d.Match(entries("k", row.value)) != nil; got != row.want {
				t.Errorf("matches = %v, want %v", got, row.want)
			}
		})
	}
}

// TestWM02: patterns work at every level, and levels below them.
func TestWM02(t *testing.T) {
	t.Parallel()
	d := compile(t, `
domain: d
descriptors:
  - key: a
    value: x
    descriptors:
      - key: p
        value: /v1/*
        descriptors: [{key: m, value: GET, rate_limit: {requests_per_unit: 1, unit: minute}}]
`).Domain("d")
	if r := d.Match(entries("a", "x", "p", "/v1/y", "m", "GET")); limitOf(r) != 1 {
		t.Errorf("GET leads to %v, want the rule", r)
	}
	if r := d.Match(entries("a", "x", "p", "/v1/y", "m", "POST")); r != nil {
		t.Errorf("POST leads to %s, want none", r.Path)
	}
}

// TestWM03: a pattern has a key per value; with share_threshold it has one, also
// for the rules below it.
func TestWM03(t *testing.T) {
	t.Parallel()
	const limit = "rate_limit: {requests_per_unit: 1, unit: day}"
	for _, row := range []struct {
		name, rules string
		a, b        []descriptors.Entry
		same        bool
	}{
		{"own", "{key: f, value: /files/*, " + limit + "}", entries("f", "/files/a"), entries("f", "/files/b"), false},
		{"shared", "{key: f, value: /files/*, share_threshold: true, " + limit + "}", entries("f", "/files/a"), entries("f", "/files/b"), true},
		{"the pattern's own text", "{key: f, value: /files/*, share_threshold: true, " + limit + "}", entries("f", "/files/a"), entries("f", "/files/*"), true},
		{"a shared parent", "{key: f, value: 'x*', share_threshold: true, descriptors: [{key: u, " + limit + "}]}", entries("f", "xa", "u", "1"), entries("f", "xb", "u", "1"), true},
		{"below a shared parent", "{key: f, value: 'x*', share_threshold: true, descriptors: [{key: u, " + limit + "}]}", entries("f", "xa", "u", "1"), entries("f", "xa", "u", "2"), false},
		{"below an unshared parent", "{key: u, descriptors: [{key: f, value: 'x*', share_threshold: true, " + limit + "}]}", entries("u", "1", "f", "xa"), entries("u", "2", "f", "xa"), false},
		{"shared below", "{key: u, descriptors: [{key: f, value: 'x*', share_threshold: true, " + limit + "}]}", entries("u", "1", "f", "xa"), entries("u", "1", "f", "xb"), true},
		{"a star in the key", "{key: 'k*', share_threshold: true, " + limit + "}", entries("k1", "a"), entries("k2", "b"), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := compile(t, "domain: d\ndescriptors: ["+row.rules+"]").Domain("d")
			r := d.Match(row.a)
			if r == nil || d.Match(row.b) != r {
				t.Fatalf("%v and %v lead to %v and %v, want one rule", row.a, row.b, r, d.Match(row.b))
			}
			a, b := r.AppendKey(nil, r.Limit, row.a), r.AppendKey(nil, r.Limit, row.b)
			if same := bytes.Equal(a, b); same != row.same {
				t.Errorf("same key = %v, want %v", same, row.same)
			}
			own, err := d.Override(r, 1, descriptors.Day, 1)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(own.AppendKey(nil, r.Limit, row.a), own.AppendKey(nil, r.Limit, row.b)) {
				t.Error("an override shares, want a key per value")
			}
		})
	}
}

// TestWM04: of several patterns that match, the first listed one wins, whatever
// its length; in any order, and after any number of compilations.
func TestWM04(t *testing.T) {
	t.Parallel()
	p := []string{"/*", "/api/*", "/api/v2/*"}
	for _, order := range [][]string{
		{p[0], p[1], p[2]}, {p[0], p[2], p[1]}, {p[1], p[0], p[2]}, {p[1], p[2], p[0]}, {p[2], p[0], p[1]}, {p[2], p[1], p[0]},
	} {
		for range 20 {
			d := compile(t, values("k", order...)).Domain("d")
			for range 1000 {
				if got := limitOf(d.Match(entries("k", "/api/v2/x"))); got != 1 {
					t.Fatalf("%v: rule %d, want the first", order, got)
				}
			}
		}
	}
}

// TestPrecedence: exact, then the first pattern, then the key alone.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	d := compile(t, values("p", "", "a*", "ab*", "abc", "*z", "a*z")+`- {key: 'q*r_*', rate_limit: {requests_per_unit: 9, unit: day}}
`).Domain("d")
	for value, want := range map[string]uint32{"abc": 4, "abd": 2, "zzz": 5, "az": 2, "b": 1, "": 1, "ab*": 3} {
		if got := limitOf(d.Match(entries("p", value))); got != want {
			t.Errorf("%q leads to rule %d, want %d", value, got, want)
		}
	}
	for key, want := range map[string]uint32{"q1r": 9, "qr": 9, "qr_": 9, "q": 0, "q1r2": 0} {
		if got := limitOf(d.Match(entries(key, "1"))); got != want {
			t.Errorf("key %s leads to rule %d, want %d", key, got, want)
		}
	}
}

// siblings are n rules of each form.
var siblings = []struct{ name, format, value string }{
	{"exact", "v%d", "v%d"},
	{"prefix", "/p%d/*", "/p%d/x"},
	{"suffix", "*.h%d.org", "a.h%d.org"},
	{"both", "/p%d/*/end%[1]d", "/p%d/x/end%[1]d"},
	{"inner", "*=i%d=*", "a=i%d=b"},
	{"several", "a*b%d-*c*", "axb%d-xcx"},
}

func many(format string, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i+n) // all of one length
	}
	return values("k", all...)
}

// TestMatchDoesNotGrow: what Match does to find one of n rules at a level does
// not depend on n.
func TestMatchDoesNotGrow(t *testing.T) {
	t.Parallel()
	for _, s := range siblings[1:] {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for _, n := range []int{100, 10_000} {
				d := compile(t, many(s.format, n)).Domain("d")
				e := descriptors.Entry{Key: "k", Value: fmt.Sprintf(s.value, n+n/2)}
				if got := limitOf(d.Match([]descriptors.Entry{e})); got != uint32(n/2+1) {
					t.Errorf("rule %d of %d, want %d", got, n, n/2+1)
				}
				if got, most := d.Steps(e), len(e.Value)+10; got > most {
					t.Errorf("%d steps among %d rules, want at most %d", got, n, most)
				}
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, s := range siblings {
		for _, n := range []int{10, 1000, 100_000} {
			b.Run(fmt.Sprintf("rules=%s/n=%d", s.name, n), func(b *testing.B) {
				d := compile(b, many(s.format, n)).Domain("d")
				e := entries("k", fmt.Sprintf(s.value, n+n/2))
				b.ReportAllocs()
				for b.Loop() {
					d.Match(e)
				}
			})
		}
	}
}

// BenchmarkLongValue is a value as long as Envoy's header limit among patterns
// of words, in what ought to be no more than reading it takes.
func BenchmarkLongValue(b *testing.B) {
	for _, n := range []int{20, 200, 5000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var text strings.Builder
			text.WriteString("domain: d\ndescriptors:\n")
			for i := range n {
				fmt.Fprintf(&text, "  - {key: agent, value: \"*word%dbot*\", rate_limit: {requests_per_unit: 1, unit: day}}\n", i)
			}
			d := compile(b, text.String()).Domain("d")
			e := entries("agent", strings.Repeat("Mozilla/5.0 (X11; wor) ", 60_000/23))
			for b.Loop() {
				d.Match(e)
			}
		})
	}
}
