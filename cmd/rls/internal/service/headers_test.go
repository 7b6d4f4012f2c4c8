package service_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/backend"
)

// serve answers through a whole service with settings.
func (b *bench) serve(c service.Config, q *codec.Request) *rlspb.RateLimitResponse {
	b.t.Helper()
	c.Rules, c.Metrics, c.Log, c.Now = func() *rules.Set { return b.set }, telemetry.New("test"), zap.NewNop(), time.Now
	if c.Store == nil {
		c.Store = b.store
	}
	a, err := service.New(c).Answer(b.t.Context(), func(to any) error {
		own := to.(*codec.Request) //nolint:errcheck,forcetypeassert // the service's own, which it empties in the end
		*own = *q
		own.Descriptors = slices.Clone(q.Descriptors)
		for i := range own.Descriptors {
			own.Descriptors[i].Entries = slices.Clone(own.Descriptors[i].Entries)
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	data, err := codec.New().Marshal(a)
	if err != nil {
		b.t.Fatal(err)
	}
	return decoded(b.t, data)
}

func decoded(t *testing.T, data mem.BufferSlice) *rlspb.RateLimitResponse {
	t.Helper()
	answer := &rlspb.RateLimitResponse{}
	if err := proto.Unmarshal(data.Materialize(), answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func headersOf(a *rlspb.RateLimitResponse) []string {
	var all []string
	for _, h := range a.GetResponseHeadersToAdd() {
		all = append(all, h.GetKey()+": "+h.GetValue())
	}
	return all
}

const everyHeader = `
domain: t
descriptors:
  - {key: a, rate_limit: {requests_per_unit: 60, unit: minute}}
  - {key: b, rate_limit: {algorithm: gcra, requests_per_unit: 1, unit: hour, name: "b\"\\\r\nx: é"}}
  - {key: ms, rate_limit: {algorithm: gcra, requests_per_unit: 5, period: 1500ms, name: fast}}
  - {key: deny, rate_limit: {requests_per_unit: 0, unit: hour}}
  - {key: seen, shadow_mode: true, rate_limit: {requests_per_unit: 1, unit: day}}
  - {key: free, rate_limit: {unlimited: true}}
`

// TestHeaders: the deciding rule speaks, in every form, whatever its name holds.
func TestHeaders(t *testing.T) {
	t.Parallel()
	all := service.Config{Headers: service.Headers{RetryAfter: true, XRateLimit: true, IETF: true}}
	a, b := descriptor("a", "1"), descriptor("b", "1")
	const name = `"b\"\\%0D%0Ax: %C3%A9"`
	for _, row := range []struct {
		name string
		ask  []*codec.Request
		want []string
	}{
		{"admitted: the least remaining", []*codec.Request{request(a, b)}, []string{
			"x-ratelimit-limit: 1, 1;w=3600;name=" + name, "x-ratelimit-remaining: 0", "x-ratelimit-reset: 3600",
			"RateLimit-Policy: " + name + ";q=1;w=3600", "RateLimit: " + name + ";r=0;t=3600",
		}},
		{"refused: who refuses (HD-01)", []*codec.Request{request(b), request(a, b)}, []string{
			"retry-after: 3600",
			"x-ratelimit-limit: 1, 1;w=3600;name=" + name, "x-ratelimit-remaining: 0", "x-ratelimit-reset: 3600",
			"RateLimit-Policy: " + name + ";q=1;w=3600", "RateLimit: " + name + ";r=0;t=3600",
		}},
		{"of two that refuse, the longest wait", []*codec.Request{request(b), request(hits(60, a)), request(a, b)}, []string{
			"retry-after: 3600",
			"x-ratelimit-limit: 1, 1;w=3600;name=" + name, "x-ratelimit-remaining: 0", "x-ratelimit-reset: 3600",
			"RateLimit-Policy: " + name + ";q=1;w=3600", "RateLimit: " + name + ";r=0;t=3600",
		}},
		{"a window with a part of a second has none", []*codec.Request{request(descriptor("ms", "1"))}, []string{
			`x-ratelimit-limit: 5, 5;name="fast"`, "x-ratelimit-remaining: 4", "x-ratelimit-reset: 1",
			`RateLimit-Policy: "fast";q=5`, `RateLimit: "fast";r=4;t=1`,
		}},
		{"no wait helps: no Retry-After", []*codec.Request{request(descriptor("deny", "1"))}, []string{
			"x-ratelimit-limit: 0, 0;w=3600", "x-ratelimit-remaining: 0", "x-ratelimit-reset: 3600",
			`RateLimit-Policy: "t.deny";q=0;w=3600`, `RateLimit: "t.deny";r=0;t=3600`,
		}},
		{"more than there ever are", []*codec.Request{request(hits(61, a))}, []string{
			"x-ratelimit-limit: 60, 60;w=60", "x-ratelimit-remaining: 60", "x-ratelimit-reset: 60",
			`RateLimit-Policy: "t.a";q=60;w=60`, `RateLimit: "t.a";r=60;t=60`,
		}},
		{"a shadow rule never refuses", []*codec.Request{request(hits(1, descriptor("seen", "1"))), request(descriptor("seen", "1"))}, []string{
			"x-ratelimit-limit: 1, 1;w=86400", "x-ratelimit-remaining: 0", "x-ratelimit-reset: 43200",
			`RateLimit-Policy: "t.seen";q=1;w=86400`, `RateLimit: "t.seen";r=0;t=43200`,
		}},
		{"no rule", []*codec.Request{request(descriptor("z", "1"))}, nil},
		{"unlimited", []*codec.Request{request(descriptor("free", "1"))}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			at := newBench(t, everyHeader)
			if strings.HasPrefix(row.name, "a shadow") {
				at.now += int64(12 * time.Hour)
			}
			var got []string
			for _, q := range row.ask {
				got = headersOf(at.serve(all, q))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPlainHeaders: three numbers under names of the operator's, of the last
// descriptor that is over, else of the first with the least remaining.
func TestPlainHeaders(t *testing.T) {
	t.Parallel()
	const text = `
domain: t
descriptors:
  - {key: a, rate_limit: {requests_per_unit: 2, unit: minute}}
  - {key: b, rate_limit: {requests_per_unit: 2, unit: hour}}
  - {key: q, quota_mode: true, rate_limit: {requests_per_unit: 1, unit: day}}
`
	c := service.Config{Headers: service.Headers{Limit: "L", Remaining: "R", Reset: "T"}}
	a, b, q := descriptor("a", "1"), descriptor("b", "1"), descriptor("q", "1")
	at := newBench(t, text)
	at.now += int64(12 * time.Hour)
	for _, row := range []struct {
		ask  *codec.Request
		want []string
	}{
		{request(a, b), []string{"L: 2", "R: 1", "T: 60"}},
		{request(b, a), []string{"L: 2", "R: 0", "T: 3600"}},
		{request(a, b), []string{"L: 2", "R: 0", "T: 3600"}},
		{request(b, a), []string{"L: 2", "R: 0", "T: 60"}},
		{request(q), []string{"L: 1", "R: 0", "T: 43200"}},
		{request(a, q), []string{"L: 2", "R: 0", "T: 60"}},
		{request(descriptor("z", "1")), nil},
		{request(descriptor("b", "3")), []string{"L: 2", "R: 1", "T: 3600"}},
		{request(hits(3, descriptor("a", "3")), descriptor("b", "3")), []string{"L: 2", "R: 2", "T: 60"}},
		{request(hits(3, descriptor("a", "2")), hits(1, descriptor("b", "2"))), []string{"L: 2", "R: 2", "T: 60"}},
	} {
		if diff := cmp.Diff(row.want, headersOf(at.serve(c, row.ask))); diff != "" {
			t.Error(diff)
		}
	}
}

// fallback is a store that always answers from somewhere else.
type fallback struct{ backend.Backend }

func (f fallback) Decide(_ context.Context, _ *backend.Request, answers []backend.Answer) backend.Verdict {
	answers[0].Allowed, answers[0].Source = true, backend.FromFallback
	return backend.OK
}

// TestNoHeadersOfAGuess: an answer that the store did not give has no numbers
// worth a header (HD-06).
func TestNoHeadersOfAGuess(t *testing.T) {
	t.Parallel()
	b := newBench(t, everyHeader)
	c := service.Config{Headers: service.Headers{RetryAfter: true, XRateLimit: true, IETF: true}, Store: fallback{}}
	if got := headersOf(b.serve(c, request(descriptor("a", "1")))); got != nil {
		t.Errorf("%q, want none", got)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	const text = "domain: t\ndescriptors: [{key: k, rate_limit: {requests_per_unit: 1, unit: minute}}]"
	k, z := descriptor("k", "1"), descriptor("z", "1")
	const ok, over = codec.OK, codec.OverLimit
	for _, row := range []struct {
		name    string
		options service.Options
		ask     *codec.Request
		want    []codec.Code // overall, then the first status
	}{
		{"none", service.Options{}, request(k, z), []codec.Code{ok, ok, over, over}},
		{"shadow", service.Options{Shadow: true}, request(k, z), []codec.Code{ok, ok, ok, over}},
		{"quota with a descriptor without a rule", service.Options{Quota: true}, request(k, z), []codec.Code{ok, ok, ok, over}},
		{"quota alone", service.Options{Quota: true}, request(k), []codec.Code{ok, ok, over, over}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, text)
			b.options = row.options
			var got []codec.Code
			for range 2 {
				a := b.ask(row.ask)
				got = append(got, a.Code, a.Statuses[0].Code)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
