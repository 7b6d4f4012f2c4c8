package descriptors_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/descriptors"
)

func compile(tb testing.TB, text string) *descriptors.Tree {
	tb.Helper()
	tree, findings := descriptors.Compile([]descriptors.Source{{Name: "rules.yaml", Data: []byte(text)}}, descriptors.Options{})
	if tree == nil {
		tb.Fatal(findings)
	}
	return tree
}

// entries are keys and values by turns.
func entries(pairs ...string) []descriptors.Entry {
	var all []descriptors.Entry
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, descriptors.Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	return all
}

func TestMatch(t *testing.T) {
	t.Parallel()
	d := compile(t, `
domain: shop
descriptors:
  - {key: a, rate_limit: {requests_per_unit: 1, unit: day}}
  - key: a
    value: x
    descriptors:
      - {key: b, value: y, rate_limit: {requests_per_unit: 2, unit: day}}
      - key: b
        rate_limit: {requests_per_unit: 3, unit: day}
        descriptors: [{key: c, rate_limit: {requests_per_unit: 4, unit: day}}]
  - {key: geo_city, rate_limit: {requests_per_unit: 5, unit: day}}
  - {key: empty_, rate_limit: {requests_per_unit: 6, unit: day}}
  - {key: Case, value: Yes, rate_limit: {requests_per_unit: 7, unit: day}}
`).Domain("shop")
	for _, row := range []struct {
		name    string
		entries []descriptors.Entry
		want    string // path, "" = no rule
	}{
		{"key only", entries("a", "1"), "shop.a"},
		{"key only, empty value", entries("a", ""), "shop.a"},
		{"value goes before key, and has no limit of its own", entries("a", "x"), ""},
		{"second level by value", entries("a", "x", "b", "y"), "shop.a_x.b_y"},
		{"second level by key", entries("a", "x", "b", "z"), "shop.a_x.b"},
		{"third level", entries("a", "x", "b", "z", "c", "1"), "shop.a_x.b.c"},
		{"a level once left is not tried again", entries("a", "x", "b", "y", "c", "1"), ""},
		{"no way back from the value to the key", entries("a", "x", "c", "1"), ""},
		{"below a leaf", entries("a", "1", "b", "y"), ""},
		{"order matters", entries("b", "y", "a", "x"), ""},
		{"unknown key", entries("z", "1"), ""},
		{"no entries", nil, ""},
		{"a key that joins key and value", entries("geo", "city"), "shop.geo_city"},
		{"and by itself", entries("geo_city", "1"), "shop.geo_city"},
		{"an empty value joins with an underscore", entries("empty", ""), "shop.empty_"},
		{"case of the key", entries("case", "Yes"), ""},
		{"case of the value", entries("Case", "yes"), ""},
		{"bytes that are not text", entries("a", "\xff\xfe\x00"), "shop.a"},
		{"a long value", entries("a", strings.Repeat("x", 100_000)), "shop.a"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if r := d.Match(row.entries); r != nil {
				got = r.Path
			}
			if got != row.want {
				t.Errorf("matched %q, want %q", got, row.want)
			}
		})
	}
}

func TestDomainIsExact(t *testing.T) {
	t.Parallel()
	tree := compile(t, "domain: shop\n")
	for _, name := range []string{"Shop", "shop ", "sho", ""} {
		if tree.Domain(name) != nil {
			t.Errorf("domain %q found, want none", name)
		}
	}
}

func TestDomainInTwoFiles(t *testing.T) {
	t.Parallel()
	file := []byte("domain: shop\n")
	tree, findings := descriptors.Compile([]descriptors.Source{{Name: "b.yaml", Data: file}, {Name: "a.yaml", Data: file}}, descriptors.Options{})
	want := "b.yaml:1:9: domain shop is already in a.yaml"
	if err := findings.Err(); tree != nil || err == nil || err.Error() != want {
		t.Errorf("loaded %v, error %v, want %s", tree != nil, err, want)
	}
}

// TestEveryFileIsReported: one bad file does not hide another's errors.
func TestEveryFileIsReported(t *testing.T) {
	t.Parallel()
	_, findings := descriptors.Compile([]descriptors.Source{
		{Name: "c.yaml"}, {Name: "b.yaml", Data: []byte("domain: [")}, {Name: "a.yaml", Data: []byte("domain: a\nx: 1\ny: 2\n")},
	}, descriptors.Options{})
	var got []string
	for _, f := range findings {
		got = append(got, fmt.Sprintf("%s:%d", f.File, f.Line))
	}
	if diff := cmp.Diff([]string{"a.yaml:2", "a.yaml:3", "b.yaml:1", "c.yaml:1"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMatchAllocatesNothing(t *testing.T) { // not parallel: it counts allocations
	d := compile(t, `
domain: shop
descriptors:
  - key: a
    descriptors: [{key: b, rate_limit: {requests_per_unit: 1, unit: day}}]
  - {key: w, value: 'x*y*z', rate_limit: {requests_per_unit: 1, unit: day}}
`).Domain("shop")
	for _, e := range [][]descriptors.Entry{
		entries("a", "some-value", "b", strings.Repeat("long", 1000)), entries("w", "x-y-"+strings.Repeat("long", 100)+"z"), entries("z", ""),
	} {
		if n := testing.AllocsPerRun(100, func() { d.Match(e) }); n > 0 {
			t.Errorf("%v allocations, want none", n)
		}
	}
}

// TestKeysNeverCollide: descriptors that differ have keys that differ, whatever
// separators their texts hold.
func TestKeysNeverCollide(t *testing.T) {
	t.Parallel()
	limit := limits(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 1, Window: 1})
	seen := map[string]string{}
	parts := []string{"", "a", "b", "_", "a_b", "|", ":", "\x00", "=", ",", "/", "\x01", "\x02a"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		pick := func() string { return parts[random.IntN(len(parts))] + parts[random.IntN(len(parts))] }
		var e []descriptors.Entry
		for range 1 + random.IntN(3) {
			e = append(e, descriptors.Entry{Key: pick(), Value: pick()})
		}
		domain := pick()
		key := string((&descriptors.Rule{Domain: domain}).AppendKey(nil, limit, e))
		identity := fmt.Sprintf("%q %q", domain, e)
		if other, ok := seen[key]; ok && other != identity {
			t.Fatalf("%s and %s share a key", identity, other)
		}
		seen[key] = identity
	}
}

func limits(tb testing.TB, p algorithms.Params) *algorithms.Rule {
	tb.Helper()
	r, err := algorithms.New(p)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// TestIdentity: what a change of a rule keeps and what begins anew.
func TestIdentity(t *testing.T) {
	t.Parallel()
	base := algorithms.Params{Kind: algorithms.GCRA, Limit: 10, Window: 1000}
	for _, row := range []struct {
		name     string
		from, to algorithms.Params
		same     bool
	}{
		{"limit and burst", base, algorithms.Params{Kind: algorithms.GCRA, Limit: 20, Window: 1000, Burst: 5}, true},
		{"window of a TAT kind", base, algorithms.Params{Kind: algorithms.GCRA, Limit: 10, Window: 2000}, true},
		{"kind within the family", base, algorithms.Params{Kind: algorithms.LeakyQueue, Limit: 10, Window: 1000}, true},
		{"family", base, algorithms.Params{Kind: algorithms.FixedWindow, Limit: 10, Window: 1000}, false},
		{
			"limit of a window",
			algorithms.Params{Kind: algorithms.FixedWindow, Limit: 10, Window: 1000},
			algorithms.Params{Kind: algorithms.FixedWindow, Limit: 20, Window: 1000, FirstHit: true},
			true,
		},
		{
			"window",
			algorithms.Params{Kind: algorithms.FixedWindow, Limit: 10, Window: 1000},
			algorithms.Params{Kind: algorithms.FixedWindow, Limit: 10, Window: 2000},
			false,
		},
		{
			"buckets",
			algorithms.Params{Kind: algorithms.SlidingCounter, Limit: 10, Window: 1000},
			algorithms.Params{Kind: algorithms.SlidingCounter, Limit: 10, Window: 1000, Buckets: 10},
			false,
		},
		{
			"variant",
			algorithms.Params{Kind: algorithms.SlidingCounter, Limit: 10, Window: 1000},
			algorithms.Params{Kind: algorithms.SlidingLog, Limit: 10, Window: 1000},
			false,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r, e := &descriptors.Rule{Domain: "d"}, entries("a", "1")
			from := r.AppendKey(nil, limits(t, row.from), e)
			to := r.AppendKey(nil, limits(t, row.to), e)
			if bytes.Equal(from, to) != row.same {
				t.Errorf("same key = %v, want %v", !row.same, row.same)
			}
		})
	}
}
