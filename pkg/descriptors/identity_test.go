package descriptors_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/descriptors"
)

func TestStatKey(t *testing.T) {
	t.Parallel()
	const limit = "rate_limit: {requests_per_unit: 1, unit: day}"
	for _, row := range []struct {
		name, rules string
		entries     []descriptors.Entry
		want        string
	}{
		{"key only", "{key: a, " + limit + "}", entries("a", "1"), "d.a"},
		{"exact", "{key: a, value: x, " + limit + "}", entries("a", "x"), "d.a_x"},
		{"exact by a joined key", "{key: geo_city, " + limit + "}", entries("geo", "city"), "d.geo_city"},
		{"pattern", "{key: a, value: 'x*', " + limit + "}", entries("a", "x1"), "d.a_x*"},
		{"pattern in the key", "{key: 'a*', " + limit + "}", entries("ab", "1"), "d.a*"},
		{"value_to_metric, key only", "{key: a, value_to_metric: true, " + limit + "}", entries("a", "1"), "d.a_1"},
		{"value_to_metric, empty", "{key: a, value_to_metric: true, " + limit + "}", entries("a", ""), "d.a"},
		{"value_to_metric, pattern", "{key: a, value: 'x*', value_to_metric: true, " + limit + "}", entries("a", "x1"), "d.a_x1"},
		{"value_to_metric above", "{key: a, value_to_metric: true, descriptors: [{key: b, " + limit + "}]}", entries("a", "1", "b", "2"), "d.a_1.b"},
		{"value_to_metric below", "{key: a, descriptors: [{key: b, value_to_metric: true, " + limit + "}]}", entries("a", "1", "b", "2"), "d.a.b_2"},
		{"detailed_metric", "{key: a, descriptors: [{key: b, detailed_metric: true, " + limit + "}]}", entries("a", "1", "b", "2"), "d.a_1.b_2"},
		{"detailed_metric, empty", "{key: a, detailed_metric: true, " + limit + "}", entries("a", ""), "d.a_"},
		{"detailed_metric above is not for the leaf", "{key: a, detailed_metric: true, descriptors: [{key: b, " + limit + "}]}", entries("a", "1", "b", "2"), "d.a.b"},
		{"shared", "{key: a, value: 'x*', share_threshold: true, " + limit + "}", entries("a", "x1"), "d.a_x*"},
		{
			"shared goes before all others", "{key: a, value: 'x*', share_threshold: true, value_to_metric: true, descriptors: [{key: b, detailed_metric: true, " + limit + "}]}",
			entries("a", "x1", "b", "2"), "d.a_x*.b_2",
		},
		{"reserved characters", "{key: 'a:|b', value_to_metric: true, " + limit + "}", entries("a:|b", "c:d|e"), "d.a__b_c_d_e"},
		{"addresses", "{key: a, value_to_metric: true, " + limit + "}", entries("a", "192.0.2.7, 10.1.2.3"), "d.a_192_0_2_7, 10_1_2_3"},
		{"other dots", "{key: a, value: www.example.com, " + limit + "}", entries("a", "www.example.com"), "d.a_www.example.com"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := compile(t, "domain: d\ndescriptors: ["+row.rules+"]").Domain("d").Match(row.entries)
			if diff := cmp.Diff(row.want, r.StatKey(row.entries)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestStatKeyOfAnOverride has all values, whatever rule is configured.
func TestStatKeyOfAnOverride(t *testing.T) {
	t.Parallel()
	d := compile(t, "domain: d\ndescriptors: [{key: a, value: 'x*', share_threshold: true, rate_limit: {requests_per_unit: 1, unit: day}}]").Domain("d")
	e := entries("a", "x1")
	r, err := d.Override(d.Match(e), 5, descriptors.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.StatKey(e); got != "d.a_x1" {
		t.Errorf("booked under %s, want d.a_x1", got)
	}
	if got := r.StatKey(entries("a", "", "b", "2")); got != "d.a.b_2" {
		t.Errorf("booked under %s, want d.a.b_2", got)
	}
}

// TestIdentityOfShared: only the shared entry is as the rule has it.
func TestIdentityOfShared(t *testing.T) {
	t.Parallel()
	r := compile(t, `
domain: d
descriptors:
  - key: a
    value: 'x*'
    share_threshold: true
    descriptors: [{key: b, rate_limit: {requests_per_unit: 1, unit: day}}]
`).Rules[0]
	asked := entries("a", "x1", "b", "2")
	got := []descriptors.Entry{r.Identity(0, asked[0]), r.Identity(1, asked[1])}
	if diff := cmp.Diff(entries("a", "x*", "b", "2"), got); diff != "" {
		t.Error(diff)
	}
}
