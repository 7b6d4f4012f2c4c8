package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	ratelimitpb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typepb "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/eb50146d/rls/test/proc"
)

// TestCompat: with --compat envoyproxy every case is answered as the program to
// replace answers it, or as a deviation says.
func TestCompat(t *testing.T) {
	t.Parallel()
	for _, c := range cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.run(t, "--compat", "envoyproxy")
		})
	}
}

// differs are the cases that the default mode answers otherwise, each with what
// causes it.
var differs = map[string]string{
	"any-descriptor-over-makes-the-call-over-and-all-are-spent":     "charge: all_or_nothing, so a refused request charges none of its rules",
	"a-plain-rule-that-is-over-denies-whatever-the-quota-rules-say": "charge: all_or_nothing, so a refused request charges none of its rules",
	"near-limit-counts-only-the-band-between-ratio-and-limit":       "a refused request spends nothing, so what is left still passes",
	"per-descriptor-hits-override-the-request-value":                "a look is over when nothing is left, not only above the limit",
	"exact-rule-keeps-its-own-counter-beside-a-shared-wildcard":     "hits of equal keys in one request are added up and share one result",
}

// TestDefaultMode: what is no quirk is answered alike without the switch.
func TestDefaultMode(t *testing.T) {
	t.Parallel()
	for _, c := range cases(t) {
		if c.Quirk || differs[c.Name] != "" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

// caseStart is the time at which a case begins, in s since the epoch.
const caseStart = 1700000000

// run asks a fresh rls, whose clock stands still, all steps of a case.
func (c *testCase) run(t *testing.T, args ...string) {
	t.Helper()
	clock := filepath.Join(t.TempDir(), "clock")
	setClock(t, clock, caseStart)
	env := []string{"RLS_TEST_CLOCK=" + clock}
	for name, value := range c.Env {
		env = append(env, name+"="+value)
	}
	r, err := proc.StartRLSWith(t.Context(), programs.clocked, &programs.ports, c.write(t), env, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Stop() //nolint:errcheck // how it ends is not this test's concern
		logOnFailure(t, "rls", r.Process)
	})
	client := rlspb.NewRateLimitServiceClient(r.Conn())
	domain := domainOf(c.Config)
	for i, s := range c.Steps {
		if s.At != 0 {
			setClock(t, clock, s.At)
		}
		var answer *rlspb.RateLimitResponse
		for range max(s.Repeat, 1) {
			answer, err = client.ShouldRateLimit(t.Context(), s.request(domain))
		}
		if diff := cmp.Diff(s.Expect.want(), s.Expect.got(answer, err, len(args) == 0)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i+1, diff)
		}
	}
}

func setClock(t *testing.T, path string, seconds int64) {
	t.Helper()
	temporary := path + ".new"
	text := strconv.FormatInt(seconds*int64(time.Second), 10)
	if err := os.WriteFile(temporary, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}

// domainOf reads the domain of a case's only file.
func domainOf(config string) string {
	for line := range strings.Lines(config) {
		if name, ok := strings.CutPrefix(line, "domain:"); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

func (s *caseStep) request(domain string) *rlspb.RateLimitRequest {
	q := &rlspb.RateLimitRequest{Domain: domain, HitsAddend: s.HitsAddend}
	if s.Domain != nil {
		q.Domain = *s.Domain
	}
	for _, d := range s.Descriptors {
		to := &ratelimitpb.RateLimitDescriptor{}
		for _, e := range d.Entries {
			to.Entries = append(to.Entries, &ratelimitpb.RateLimitDescriptor_Entry{Key: e.Key, Value: e.Value})
		}
		if d.HitsAddend != nil {
			to.HitsAddend = wrap(*d.HitsAddend)
		}
		if d.Limit != nil {
			to.Limit = &ratelimitpb.RateLimitDescriptor_RateLimitOverride{
				RequestsPerUnit: d.Limit.RequestsPerUnit, Unit: typepb.RateLimitUnit(typepb.RateLimitUnit_value[d.Limit.Unit]),
			}
		}
		q.Descriptors = append(q.Descriptors, to)
	}
	return q
}

// want is what a step expects, a line a fact.
func (x *caseExpect) want() []string {
	if x.Error != "" {
		return []string{"error " + x.Error}
	}
	lines := []string{"overall " + x.Overall}
	for i, s := range x.Statuses {
		lines = append(lines, fmt.Sprintf("status %d: %s", i, strings.Join(s.facts(), " ")))
	}
	for name, value := range x.Headers {
		lines = append(lines, "header "+name+": "+value)
	}
	if x.DynamicMetadata != nil {
		lines = append(lines, "metadata "+canonical(x.DynamicMetadata))
	}
	return sorted(lines)
}

func (s *caseStatus) facts() []string {
	facts := []string{s.Code}
	if s.NoLimit {
		facts = append(facts, "limit=none", "remaining=0", "reset=none")
	}
	if s.NoCurrentLimit {
		facts = append(facts, "limit=none")
	}
	add := func(name string, value any, ok bool) {
		if ok {
			facts = append(facts, fmt.Sprintf("%s=%v", name, value))
		}
	}
	add("remaining", deref(s.LimitRemaining), s.LimitRemaining != nil)
	add("requests", deref(s.RequestsPerUnit), s.RequestsPerUnit != nil)
	add("unit", deref(s.Unit), s.Unit != nil)
	add("name", deref(s.Name), s.Name != nil)
	add("reset", fmt.Sprint(deref(s.ResetSeconds), "s"), s.ResetSeconds != nil)
	return facts
}

// got is an answer in the same form: only the facts that the step asks for.
func (x *caseExpect) got(a *rlspb.RateLimitResponse, err error, more bool) []string {
	if err != nil {
		return []string{"error " + errorClass(err)}
	}
	lines := []string{"overall " + a.GetOverallCode().String()}
	for i, s := range a.GetStatuses() {
		asked := caseStatus{}
		if i < len(x.Statuses) {
			asked = x.Statuses[i]
		}
		lines = append(lines, fmt.Sprintf("status %d: %s", i, strings.Join(asked.gotFacts(s), " ")))
	}
	if x.Headers != nil || x.NoHeaders {
		for _, h := range a.GetResponseHeadersToAdd() {
			lines = append(lines, "header "+h.GetKey()+": "+h.GetValue())
		}
	}
	if x.DynamicMetadata != nil {
		m := a.GetDynamicMetadata().AsMap()
		if more { // the default mode adds its own
			delete(m, "rls.rule")
		}
		lines = append(lines, "metadata "+canonical(m))
	}
	return sorted(lines)
}

func (s *caseStatus) gotFacts(got *rlspb.RateLimitResponse_DescriptorStatus) []string {
	limit := got.GetCurrentLimit()
	reset := "none"
	if got.GetDurationUntilReset() != nil {
		reset = fmt.Sprint(int64(got.GetDurationUntilReset().AsDuration()/time.Second), "s")
	}
	facts := []string{got.GetCode().String()}
	has := map[bool]string{true: "some", false: "none"}[limit != nil]
	if s.NoLimit {
		facts = append(facts, "limit="+has, fmt.Sprintf("remaining=%d", got.GetLimitRemaining()), "reset="+reset)
	}
	if s.NoCurrentLimit {
		facts = append(facts, "limit="+has)
	}
	for _, f := range []struct {
		asked bool
		text  string
	}{
		{s.LimitRemaining != nil, fmt.Sprintf("remaining=%d", got.GetLimitRemaining())},
		{s.RequestsPerUnit != nil, fmt.Sprintf("requests=%d", limit.GetRequestsPerUnit())},
		{s.Unit != nil, "unit=" + limit.GetUnit().String()},
		{s.Name != nil, "name=" + limit.GetName()},
		{s.ResetSeconds != nil, "reset=" + reset},
	} {
		if f.asked {
			facts = append(facts, f.text)
		}
	}
	return facts
}

// errorClass is the case format's word for an error.
func errorClass(err error) string {
	s := status.Convert(err)
	for text, class := range map[string]string{
		"domain is empty": "empty_domain", "descriptors is empty": "empty_descriptors", "limit.unit": "bad_override",
	} {
		if s.Code() == codes.InvalidArgument && strings.Contains(s.Message(), text) {
			return class
		}
	}
	return s.String()
}

// TestCompatWithAlgorithms: in compat mode a rule that names an algorithm keeps
// our counting, beside one that does not (WC-01, WC-02).
func TestCompatWithAlgorithms(t *testing.T) {
	t.Parallel()
	c := testCase{Config: `domain: mixed
descriptors:
  - {key: theirs, rate_limit: {requests_per_unit: 2, unit: hour}}
  - {key: ours, rate_limit: {algorithm: fixed_window, requests_per_unit: 2, unit: hour}}
`}
	dir := c.write(t)
	r := startRLS(t, dir, "--compat", "envoyproxy")
	client := rlspb.NewRateLimitServiceClient(r.Conn())
	count := func(key string, hits uint32) (code string, remaining uint32, metadata int) {
		t.Helper()
		a, err := client.ShouldRateLimit(context.WithoutCancel(t.Context()), &rlspb.RateLimitRequest{
			Domain: "mixed", HitsAddend: hits,
			Descriptors: []*ratelimitpb.RateLimitDescriptor{{Entries: []*ratelimitpb.RateLimitDescriptor_Entry{{Key: key, Value: "x"}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return a.GetOverallCode().String(), a.GetStatuses()[0].GetLimitRemaining(), len(a.GetDynamicMetadata().GetFields())
	}
	type row struct {
		Code      string
		Remaining uint32
		Metadata  int
	}
	var got []row
	for _, ask := range []struct {
		key  string
		hits uint32
	}{{"theirs", 3}, {"theirs", 1}, {"ours", 3}, {"ours", 1}} {
		code, remaining, metadata := count(ask.key, ask.hits)
		got = append(got, row{code, remaining, metadata})
	}
	want := []row{{"OVER_LIMIT", 0, 0}, {"OVER_LIMIT", 0, 0}, {"OVER_LIMIT", 2, 1}, {"OK", 1, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
