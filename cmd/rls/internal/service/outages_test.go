package service_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// broken is a store whose answers are err or from source.
type broken struct {
	backend.Backend
	err    error
	source backend.Source
}

func (s *broken) Decide(_ context.Context, q *backend.Request, answers []backend.Answer) backend.Verdict {
	for i := range answers {
		answers[i] = backend.Answer{Decision: algorithms.Decision{Allowed: s.err == nil}, Err: s.err, Source: s.source}
	}
	return backend.Judge(q, answers)
}

// TestUndecidedIsNotNamed: where the store decides nothing, a refused request
// speaks of a rule whose policy refused, in any order.
func TestUndecidedIsNotNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
domain: t
descriptors:
  - {key: e, rate_limit: {requests_per_unit: 1, unit: year}}
  - {key: d, rate_limit: {requests_per_unit: 1, unit: minute, on_error: deny}}
`)
	b.store = &broken{err: errors.New("gone"), source: backend.FromFallback}
	e, d := descriptor("e", "1"), descriptor("d", "1")
	want := append(named("t.d"), codec.StringField{Key: "rls.degraded", Value: "fallback"})
	for _, ask := range []*codec.Request{request(e, d), request(d, e), request(d)} {
		check(t, &codec.Response{Code: codec.OverLimit, DynamicMetadata: want}, withoutStatuses(b.ask(ask)))
	}
}

// TestOutageEnds: the log tells of an outage and once of its end, which an answer
// soon after a failure or from elsewhere than the store is not.
func TestOutageEnds(t *testing.T) {
	t.Parallel()
	const gone, back = "the store did not decide, on_error of the rules does", "the store decides again"
	b := newBench(t, oneRule)
	core, lines := observer.New(zap.InfoLevel)
	at := time.Unix(1_000_000, 0)
	store := &broken{source: backend.FromStore}
	s := service.New(service.Config{
		Rules: func() *rules.Set { return b.set }, Store: store, Metrics: telemetry.New("test"), Log: zap.New(core), Now: func() time.Time { return at },
	})
	for i, step := range []struct {
		after  time.Duration
		err    error
		source backend.Source
		want   []string
	}{
		{0, nil, backend.FromStore, nil},
		{0, errors.New("gone"), backend.FromFallback, []string{gone}},
		{time.Second - 1, nil, backend.FromStore, nil},
		{0, errors.New("gone"), backend.FromFallback, nil},
		{time.Second - 1, nil, backend.FromStore, nil},
		{1, nil, backend.FromCache, nil},
		{0, nil, backend.FromStore, []string{back}},
		{time.Hour, nil, backend.FromStore, nil},
	} {
		at = at.Add(step.after)
		store.err, store.source = step.err, step.source
		_, err := s.Answer(t.Context(), func(to any) error {
			if q, ok := to.(*codec.Request); ok {
				*q = *request(descriptor("k", "a"))
			}
			return nil
		})
		if (err != nil) != (step.err != nil) {
			t.Errorf("step %d: %v", i, err)
		}
		var got []string
		for _, line := range lines.TakeAll() {
			got = append(got, line.Message)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}
