package integration

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestIstio pins that the EnvoyFilter objects carry the filter and the limits that
// the tests run, and that Istio takes the Service's port for gRPC.
func TestIstio(t *testing.T) {
	t.Parallel()
	config := document(t, shipped(t, "http-ratelimit.yaml"))
	manager := at(t, config, "static_resources", "listeners", 0, "filter_chains", 0, "filters", 0, "typed_config")
	documents := strings.Split(shipped(t, "istio-envoyfilter.yaml"), "\n---\n")
	if len(documents) != 3 {
		t.Fatalf("%d documents, want two EnvoyFilters and a Service", len(documents))
	}
	patch := func(i int) any {
		d := document(t, documents[i])
		if diff := cmp.Diff("EnvoyFilter", at(t, d, "kind")); diff != "" {
			t.Error(diff)
		}
		return at(t, d, "spec", "configPatches", 0, "patch", "value")
	}

	want, got := at(t, manager, "http_filters", 0), patch(0)
	const cluster, authority = "outbound|8081||rls.rls.svc.cluster.local", "rls.rls.svc.cluster.local"
	service, ok := at(t, want, "typed_config", "rate_limit_service", "grpc_service").(map[string]any)
	if !ok {
		t.Fatal("http-ratelimit.yaml has no grpc_service")
	}
	service["envoy_grpc"] = map[string]any{"cluster_name": cluster, "authority": authority}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("filter (-Envoy +Istio):\n%s", diff)
	}
	host := at(t, manager, "route_config", "virtual_hosts", 0)
	if diff := cmp.Diff(at(t, host, "rate_limits"), at(t, patch(1), "rate_limits")); diff != "" {
		t.Errorf("limits (-Envoy +Istio):\n%s", diff)
	}
	port := at(t, document(t, documents[2]), "spec", "ports", 0)
	if diff := cmp.Diff(map[string]any{"name": "grpc-rls", "port": 8081, "targetPort": 8081, "appProtocol": "grpc"}, port); diff != "" {
		t.Errorf("port of the Service:\n%s", diff)
	}
}

func document(t *testing.T, text string) any {
	t.Helper()
	var d any
	if err := yaml.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// at walks down by keys and indexes.
func at(t *testing.T, d any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, ok := d.(map[string]any)
			if !ok {
				t.Fatalf("%v: no mapping at %q", path, step)
			}
			d = m[step]
		case int:
			s, ok := d.([]any)
			if !ok || step >= len(s) {
				t.Fatalf("%v: no item %d", path, step)
			}
			d = s[step]
		}
	}
	return d
}
