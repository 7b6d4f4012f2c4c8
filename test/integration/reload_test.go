package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ratelimitpb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/eb50146d/rls/test/proc"
)

// ruleFile is a file with one rule of n hits a year per value of k.
func ruleFile(n int) string {
	return fmt.Sprintf("domain: t\ndescriptors:\n  - key: k\n    rate_limit: {algorithm: gcra, requests_per_unit: %d, unit: year}\n", n)
}

// folder is a directory of rule files in which rls is started.
type folder struct {
	t   *testing.T
	dir string
	rls *proc.RLS
}

func newFolder(t *testing.T, files ...string) *folder {
	t.Helper()
	f := &folder{t: t, dir: t.TempDir()}
	for i := 0; i < len(files); i += 2 {
		f.put(files[i], files[i+1])
	}
	return f
}

func (f *folder) put(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(text), 0o600))
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) link(to, name string) {
	f.t.Helper()
	temporary := filepath.Join(f.dir, "..tmp")
	if err := errors.Join(os.Symlink(to, temporary), os.Rename(temporary, filepath.Join(f.dir, name))); err != nil {
		f.t.Fatal(err)
	}
}

// look asks without charging what is left for a fresh value; ok is false if no
// rule answers.
func (f *folder) look(ctx context.Context) (limit uint32, ok bool, err error) {
	a, err := rlspb.NewRateLimitServiceClient(f.rls.Conn()).ShouldRateLimit(ctx, &rlspb.RateLimitRequest{
		Domain: "t", Descriptors: []*ratelimitpb.RateLimitDescriptor{{
			Entries: []*ratelimitpb.RateLimitDescriptor_Entry{{Key: "k", Value: "fresh"}}, HitsAddend: wrap(0),
		}},
	})
	if err != nil {
		return 0, false, err
	}
	l := a.GetStatuses()[0].GetCurrentLimit()
	return l.GetRequestsPerUnit(), l != nil, nil
}

// becomes waits until the limit is n and fails if at any look there was none.
func (f *folder) becomes(n uint32) {
	f.t.Helper()
	err := f.rls.Await(f.t.Context(), func(ctx context.Context) error {
		limit, ok, err := f.look(ctx)
		if err == nil && !ok {
			f.t.Error("a moment without limits")
		}
		if err == nil && limit != n {
			return fmt.Errorf("the limit is %d, want %d", limit, n)
		}
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// reloads is how often the rules were loaded and refused.
func (f *folder) reloads() (ok, refused int) {
	f.t.Helper()
	_, _, metrics := request(f.t, f.rls.HTTP, "GET", "/metrics", "")
	for line := range strings.Lines(metrics) {
		fmt.Sscanf(line, `rls_config_reloads_total{result="ok"} %d`, &ok)         //nolint:errcheck // other lines do not fit
		fmt.Sscanf(line, `rls_config_reloads_total{result="error"} %d`, &refused) //nolint:errcheck // other lines do not fit
	}
	return ok, refused
}

// TestCF04AChangedFileIsPickedUp, in each of the ways in which files change.
func TestCF04AChangedFileIsPickedUp(t *testing.T) {
	t.Parallel()
	path := func(f *folder, name string) string { return filepath.Join(f.dir, name) }
	for _, row := range []struct {
		name   string
		change func(t *testing.T, f *folder)
	}{
		{"written in place", func(_ *testing.T, f *folder) { f.put("rl.yaml", ruleFile(2)) }},
		{"renamed over", func(t *testing.T, f *folder) {
			t.Helper()
			f.put("rl.tmp", ruleFile(2))
			if err := os.Rename(path(f, "rl.tmp"), path(f, "rl.yaml")); err != nil {
				t.Fatal(err)
			}
		}},
		{"deleted, then made", func(t *testing.T, f *folder) {
			t.Helper()
			if err := os.Remove(path(f, "rl.yaml")); err != nil {
				t.Fatal(err)
			}
			f.put("rl.yaml", ruleFile(2))
		}},
		{"written twice", func(_ *testing.T, f *folder) {
			f.put("rl.yaml", ruleFile(3))
			f.put("rl.yaml", ruleFile(2))
		}},
		{"moved to another name", func(t *testing.T, f *folder) {
			t.Helper()
			f.put("rl2.yml", ruleFile(2))
			if err := os.Remove(path(f, "rl.yaml")); err != nil {
				t.Fatal(err)
			}
		}},
		{"half written at first", func(t *testing.T, f *folder) {
			t.Helper()
			whole := ruleFile(2)
			f.put("rl.yaml", whole[:len(whole)/2])
			if _, _, err := f.look(t.Context()); err != nil {
				t.Error(err)
			}
			f.put("rl.yaml", whole)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t, "rl.yaml", ruleFile(1))
			f.rls = startRLS(t, f.dir)
			f.becomes(1)
			row.change(t, f)
			f.becomes(2)
			if ok, refused := f.reloads(); ok != 2 || refused != 0 {
				t.Errorf("%d loads and %d refused, want exactly the last content loaded", ok, refused)
			}
		})
	}
}

// TestCF02ConfigMapLinksAreNoSecondCopies, and swapping them is a change.
func TestCF02ConfigMapLinksAreNoSecondCopies(t *testing.T) {
	t.Parallel()
	f := newFolder(t, "..2026_01/rl.yaml", ruleFile(1))
	f.link("..2026_01", "..data")
	f.link("..data/rl.yaml", "rl.yaml")
	f.rls = startRLS(t, f.dir)
	f.becomes(1)
	f.put("..2026_02/rl.yaml", ruleFile(2))
	f.link("..2026_02", "..data")
	f.becomes(2)
	if ok, refused := f.reloads(); ok != 2 || refused != 0 {
		t.Errorf("%d loads and %d refused, want 2 and none", ok, refused)
	}
}

// TestCF01ADuplicateKeepsTheOldRules: one log line and one count an attempt, the
// error names both lines, and what is in force stays.
func TestCF01ADuplicateKeepsTheOldRules(t *testing.T) {
	t.Parallel()
	f := newFolder(t, "rl.yaml", ruleFile(1))
	f.rls = startRLS(t, f.dir, "--log-format", "json")
	f.put("rl.yaml", ruleFile(1)+"  - key: k\n    rate_limit: {requests_per_unit: 5, unit: day}\n")
	if err := f.rls.Await(t.Context(), func(context.Context) error {
		if _, refused := f.reloads(); refused == 0 {
			return errors.New("nothing was refused yet")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	client := rlspb.NewRateLimitServiceClient(f.rls.Conn())
	for _, want := range []rlspb.RateLimitResponse_Code{rlspb.RateLimitResponse_OK, rlspb.RateLimitResponse_OVER_LIMIT, rlspb.RateLimitResponse_OVER_LIMIT} {
		a, err := client.ShouldRateLimit(t.Context(), &rlspb.RateLimitRequest{Domain: "t", Descriptors: []*ratelimitpb.RateLimitDescriptor{
			{Entries: []*ratelimitpb.RateLimitDescriptor_Entry{{Key: "k", Value: "1"}}},
		}})
		if err != nil || a.GetOverallCode() != want {
			t.Errorf("%v, %v, want %v", a.GetOverallCode(), err, want)
		}
	}
	if err := f.rls.Expect(t.Context(), healthpb.HealthCheckResponse_SERVING); err != nil {
		t.Error(err)
	}
	_, _, text := request(t, f.rls.Admin, "GET", "/config", "")
	if !strings.Contains(text, `rl.yaml:5:`) || !strings.Contains(text, `line 3`) || !strings.Contains(text, `"version":1`) {
		t.Errorf("/config says %s, want the error with both lines beside version 1", text)
	}
	if ok, refused := f.reloads(); ok != 1 || refused != 1 {
		t.Errorf("%d loads and %d refused, want 1 and 1", ok, refused)
	}
	if err := f.rls.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(f.rls.Output(), "rules refused"); n != 1 {
		t.Errorf("%d log lines, want one an attempt", n)
	}
}

// TestCF06BrokenAtFirst: up, not ready, UNAVAILABLE; and it heals.
func TestCF06BrokenAtFirst(t *testing.T) {
	t.Parallel()
	f := newFolder(t, "rl.yaml", "domain: [")
	r, err := proc.LaunchRLS(t.Context(), programs.rls, &programs.ports, f.dir)
	if err != nil {
		t.Fatal(err)
	}
	f.rls = r
	t.Cleanup(func() {
		r.Stop() //nolint:errcheck // how it ends is not this test's concern
		logOnFailure(t, "rls", r.Process)
	})
	if err := r.Await(t.Context(), func(ctx context.Context) error {
		return r.Expect(ctx, healthpb.HealthCheckResponse_NOT_SERVING)
	}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.look(t.Context()); status.Code(err) != codes.Unavailable {
		t.Errorf("error %v, want Unavailable", err)
	}
	if status, _, text := request(t, r.HTTP, "GET", "/healthcheck", ""); status != 500 || text != "" {
		t.Errorf("/healthcheck: %d %q, want 500 and nothing", status, text)
	}
	if ok, refused := f.reloads(); ok != 0 || refused != 1 {
		t.Errorf("%d loads and %d refused, want 0 and 1", ok, refused)
	}
	if !strings.Contains(r.Output(), "rl.yaml:1:") {
		t.Errorf("the log has no place of the error:\n%s", r.Output())
	}
	f.put("rl.yaml", ruleFile(1))
	if err := r.Await(t.Context(), func(ctx context.Context) error {
		return r.Expect(ctx, healthpb.HealthCheckResponse_SERVING)
	}); err != nil {
		t.Fatal(err)
	}
	f.becomes(1)
}

// TestCF03EditorFilesAreLeftAlone.
func TestCF03EditorFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFolder(t, "rl.yaml", ruleFile(1))
	f.rls = startRLS(t, f.dir)
	for _, name := range []string{".rl.yaml.swp", "rl.yaml~", "README.md", ".hidden.yaml", "#rl.yaml#"} {
		f.put(name, "\x00\x01 not yaml: [")
	}
	f.put("second.yaml", strings.Replace(ruleFile(7), "domain: t", "domain: u", 1))
	if err := f.rls.Await(t.Context(), func(context.Context) error {
		if ok, _ := f.reloads(); ok < 2 {
			return errors.New("the second file is not in force yet")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if ok, refused := f.reloads(); ok != 2 || refused != 0 {
		t.Errorf("%d loads and %d refused, want 2 and none", ok, refused)
	}
}

// TestCF10TwoReplicasTellTheirRulesApart by the hash.
func TestCF10TwoReplicasTellTheirRulesApart(t *testing.T) {
	t.Parallel()
	hash := func(f *folder) string {
		_, _, text := request(t, f.rls.Admin, "GET", "/config", "")
		var config struct{ Hash string }
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			t.Fatal(err)
		}
		return config.Hash
	}
	var hashes []string
	for _, n := range []int{1, 2} {
		f := newFolder(t, "rl.yaml", ruleFile(n))
		f.rls = startRLS(t, f.dir)
		hashes = append(hashes, hash(f))
	}
	if hashes[0] == hashes[1] || hashes[0] == "" {
		t.Errorf("hashes %q, want two", hashes)
	}
}
