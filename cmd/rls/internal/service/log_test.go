package service_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
)

// logged is what the debug log has of the descriptors of a request.
func logged(t *testing.T, plain bool, d ...codec.Descriptor) []any {
	t.Helper()
	b := newBench(t, oneRule)
	core, logs := observer.New(zap.DebugLevel)
	s := service.New(service.Config{
		Rules: func() *rules.Set { return b.set }, Store: b.store, Metrics: telemetry.New("test"), Log: zap.New(core), Now: time.Now, LogValues: plain,
	})
	if _, err := s.Answer(t.Context(), func(to any) error {
		if q, ok := to.(*codec.Request); ok {
			*q = *request(d...)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	all, ok := logs.FilterMessage("decided").TakeAll()[0].ContextMap()["descriptors"].([]any)
	if !ok {
		t.Fatal("no descriptors in the log")
	}
	return all
}

// TestLoggedValues: equal values have one hash and others another, in one process;
// the next process has others.
func TestLoggedValues(t *testing.T) {
	t.Parallel()
	texts := func() []string {
		var all []string
		for _, d := range logged(t, false, descriptor("k", "a"), descriptor("k", "b"), descriptor("k", "a")) {
			all = append(all, fmt.Sprint(d))
		}
		return all
	}
	first, second := texts(), texts()
	if first[0] != first[2] || first[0] == first[1] || len(first[0]) != len("map[entries:[k=#01234567]]") {
		t.Errorf("logged %q, want two hashes of 8 digits, the first twice", first)
	}
	if first[0] == second[0] {
		t.Errorf("logged %q and %q by two processes, want other hashes", first, second)
	}
}

func TestLoggedDescriptors(t *testing.T) {
	t.Parallel()
	want := []any{
		map[string]any{"entries": []any{"k=v", "x="}},
		map[string]any{"entries": []any{"k=\xff"}, "hits_addend": uint64(3), "is_negative_hits": true},
		map[string]any{"entries": []any{"k=w"}, "limit": uint32(7)},
	}
	got := logged(t, true, descriptor("k", "v", "x", ""), refund(3, descriptor("k", "\xff")), override(7, 1, descriptor("k", "w")))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
