package feedback

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

// since is a time of a report.
func since(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(epoch().Add(d)) }

func quantiles(p50, p99 time.Duration) *feedbackv1.Report_Quantiles {
	return &feedbackv1.Report_Quantiles{Quantiles: &feedbackv1.Quantiles{P50: durationpb.New(p50), P99: durationpb.New(p99)}}
}

// histogram has indices and counts by turns.
func histogram(pairs ...uint64) *feedbackv1.Report_Histogram {
	h := &feedbackv1.Histogram{}
	for i := 0; i < len(pairs); i += 2 {
		h.Buckets = append(h.Buckets, &feedbackv1.Bucket{Index: uint32(pairs[i]), Count: pairs[i+1]})
	}
	return &feedbackv1.Report_Histogram{Histogram: h}
}

// TestBadReports: every error names the field and says what it must be.
func TestBadReports(t *testing.T) {
	t.Parallel()
	const billion = 1_000_000_000
	for _, row := range []struct {
		name  string
		spoil func(*feedbackv1.Report)
		want  string
	}{
		{"no target", func(r *feedbackv1.Report) { r.Target = "" }, "target has 0 bytes, must have 1 to 256"},
		{"no reporter", func(r *feedbackv1.Report) { r.Reporter = "" }, "reporter has 0 bytes, must have 1 to 256"},
		{"long target", func(r *feedbackv1.Report) { r.Target = strings.Repeat("a", 257) }, "target has 257 bytes, must have 1 to 256"},
		{"long reporter", func(r *feedbackv1.Report) { r.Reporter = strings.Repeat("a", 257) }, "reporter has 257 bytes, must have 1 to 256"},
		{"start is no time", func(r *feedbackv1.Report) { r.WindowStart = &timestamppb.Timestamp{Nanos: -1} }, "window_start is no time: seconds 0, nanos -1"},
		{
			"end is no time", func(r *feedbackv1.Report) { r.WindowEnd = &timestamppb.Timestamp{Seconds: math.MaxInt64} },
			"window_end is no time: seconds 9223372036854775807, nanos 0",
		},
		{
			"in the future", func(r *feedbackv1.Report) { r.WindowEnd = since(2*time.Second + 1) },
			"window_end is 2.000000001s ahead of the clock of rls, must be at most 2s: set the clock, or leave the window out",
		},
		{
			"empty window", func(r *feedbackv1.Report) { r.WindowStart, r.WindowEnd = since(-time.Second), since(-time.Second) },
			"window_start is 2026-11-30T11:59:59Z, must be before the end, 2026-11-30T11:59:59Z",
		},
		{
			"start after now", func(r *feedbackv1.Report) { r.WindowStart = since(1) },
			"window_start is 2026-11-30T12:00:00.000000001Z, must be before the end, 2026-11-30T12:00:00Z",
		},
		{"long window", func(r *feedbackv1.Report) { r.WindowStart = since(-time.Minute - 1) }, "window_start is 1m0.000000001s before the end, must be at most 1m0s"},
		{"started", func(r *feedbackv1.Report) { r.Started = billion + 1 }, "started is 1000000001, must be at most 1000000000"},
		{"ok", func(r *feedbackv1.Report) { r.Ok = billion + 1 }, "ok is 1000000001, must be at most 1000000000"},
		{"errors", func(r *feedbackv1.Report) { r.Errors = math.MaxUint64 }, "errors is 18446744073709551615, must be at most 1000000000"},
		{"in_flight", func(r *feedbackv1.Report) { r.InFlight = billion + 1 }, "in_flight is 1000000001, must be at most 1000000000"},
		{
			"more ended than started", func(r *feedbackv1.Report) { r.Started, r.Ok, r.Errors = 7, 10_000, 701 },
			"ok and errors are 10701 together, must be at most 10700 where started is 7",
		},
		{"no p50", func(r *feedbackv1.Report) { r.Latency = &feedbackv1.Report_Quantiles{} }, "quantiles.p50 is missing, must be more than 0s"},
		{
			"no p99",
			func(r *feedbackv1.Report) {
				r.Latency = &feedbackv1.Report_Quantiles{Quantiles: &feedbackv1.Quantiles{P50: durationpb.New(1)}}
			},
			"quantiles.p99 is missing, must be more than 0s",
		},
		{"p50 of 0", func(r *feedbackv1.Report) { r.Latency = quantiles(0, 1) }, "quantiles.p50 is 0s, must be more than 0s"},
		{"negative p50", func(r *feedbackv1.Report) { r.Latency = quantiles(-time.Second, 1) }, "quantiles.p50 is -1s, must be more than 0s"},
		{"negative nanos", func(r *feedbackv1.Report) { r.Latency = quantiles(-1, 1) }, "quantiles.p50 is -1ns, must be more than 0s"},
		{
			"two signs",
			func(r *feedbackv1.Report) {
				r.Latency = &feedbackv1.Report_Quantiles{Quantiles: &feedbackv1.Quantiles{P50: &durationpb.Duration{Seconds: 1, Nanos: -1}, P99: durationpb.New(1)}}
			},
			"quantiles.p50 is no duration: seconds 1, nanos -1",
		},
		{
			"infinite",
			func(r *feedbackv1.Report) {
				r.Latency = &feedbackv1.Report_Quantiles{Quantiles: &feedbackv1.Quantiles{P50: durationpb.New(1), P99: &durationpb.Duration{Seconds: math.MaxInt64}}}
			},
			"quantiles.p99 is no duration: seconds 9223372036854775807, nanos 0",
		},
		{"p99 below p50", func(r *feedbackv1.Report) { r.Latency = quantiles(2, 1) }, "quantiles.p99 is 1ns, must be at least p50, 2ns"},
		{
			"quantiles of nothing", func(r *feedbackv1.Report) { r.Ok, r.Errors, r.Latency = 0, 0, quantiles(1, 1) },
			"ok and errors are 0, must be at least 1 together where there are quantiles",
		},
		{"index", func(r *feedbackv1.Report) { r.Latency = histogram(0, 1, 769, 1) }, "histogram.buckets[1].index is 769, must be at most 768"},
		{"empty bucket", func(r *feedbackv1.Report) { r.Latency = histogram(0, 0) }, "histogram.buckets[0].count is 0, must be 1 to 1000000000"},
		{"full bucket", func(r *feedbackv1.Report) { r.Latency = histogram(0, billion+1) }, "histogram.buckets[0].count is 1000000001, must be 1 to 1000000000"},
		{"index twice", func(r *feedbackv1.Report) { r.Latency = histogram(5, 1, 4, 1, 5, 1) }, "histogram.buckets[2].index is 5 once more, must be there once"},
		{"more latencies than ended", func(r *feedbackv1.Report) { r.Latency = histogram(5, 10, 4, 4) }, "histogram has 14 latencies, must have at most ok and errors together, 13"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := &feedbackv1.Report{Target: "a", Reporter: "x", Started: 20, Ok: 12, Errors: 1}
			row.spoil(r)
			if _, err := check(r, who{}, epoch()); err == nil || err.Error() != row.want {
				t.Errorf("%v, want %s", err, row.want)
			}
		})
	}
	if _, err := check(nil, who{}, epoch()); err == nil || err.Error() != "report is missing" {
		t.Errorf("of nothing: %v", err)
	}
}

// TestGoodReports are at the edge of what is taken.
func TestGoodReports(t *testing.T) {
	t.Parallel()
	sketch := func(pairs ...uint64) (s adaptive.Sketch) {
		for i := 0; i < len(pairs); i += 2 {
			s.Add(int(pairs[i]), pairs[i+1])
		}
		return s
	}
	const second, billion = time.Second, 1_000_000_000
	for _, row := range []struct {
		name     string
		in       *feedbackv1.Report
		identity string
		want     report
	}{
		{
			"by hand", &feedbackv1.Report{Target: "a", Reporter: "x", Ok: 100, Latency: quantiles(time.Millisecond, second)}, "",
			report{
				target: "a", reporter: key{"socket", "x"}, start: epoch().Add(-second), end: epoch(),
				row: adaptive.Row{OK: 100, Latency: adaptive.TwoPoint(100, .001, 1)},
			},
		},
		{
			"idle", &feedbackv1.Report{Target: "a", Reporter: "x", Sequence: 9}, "",
			report{target: "a", reporter: key{"socket", "x"}, sequence: 9, start: epoch().Add(-second), end: epoch(), startedKnown: true},
		},
		{
			"everything", &feedbackv1.Report{
				Target: strings.Repeat("t", 256), Reporter: strings.Repeat("r", 256), Sequence: math.MaxUint64, WindowStart: since(-58 * second), WindowEnd: since(2 * second),
				Started: billion, Ok: billion, Errors: billion, InFlight: billion, Latency: histogram(768, billion, 0, billion),
			}, "",
			report{
				target: strings.Repeat("t", 256), reporter: key{"socket", strings.Repeat("r", 256)}, sequence: math.MaxUint64, start: epoch().Add(-58 * second), end: epoch().Add(2 * second),
				row: adaptive.Row{Started: billion, OK: billion, Errors: billion, Latency: sketch(0, billion, 768, billion)}, startedKnown: true,
			},
		},
		{
			"a queue empties", &feedbackv1.Report{Target: "a", Reporter: "x", WindowEnd: since(-3 * second), Started: 7, Ok: 10_700}, "",
			report{target: "a", reporter: key{"socket", "x"}, start: epoch().Add(-4 * second), end: epoch().Add(-3 * second), row: adaptive.Row{Started: 7, OK: 10_700}, startedKnown: true},
		},
		{
			"same quantiles, no limit without started", &feedbackv1.Report{Target: "a", Reporter: "x", Errors: billion, Latency: quantiles(1, 1)}, "",
			report{target: "a", reporter: key{"socket", "x"}, start: epoch().Add(-second), end: epoch(), row: adaptive.Row{Errors: billion, Latency: sketch(0, billion)}},
		},
		{
			"named by its certificate", &feedbackv1.Report{Target: "a", Reporter: "somebody else"}, "spiffe://mesh/app",
			report{target: "a", reporter: key{origin: "certificate spiffe://mesh/app"}, start: epoch().Add(-second), end: epoch(), startedKnown: true},
		},
		{
			"certificate with a long name", &feedbackv1.Report{Target: "a"}, strings.Repeat("é", 200),
			report{target: "a", reporter: key{origin: "certificate " + whole(strings.Repeat("é", 200))}, start: epoch().Add(-second), end: epoch(), startedKnown: true},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := check(row.in, who{identity: row.identity}, epoch())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, *got, cmp.AllowUnexported(report{}, key{}), cmp.Comparer(func(a, b adaptive.Sketch) bool {
				return cmp.Equal(buckets(&a), buckets(&b))
			})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
