package loop

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestConfigure: what a run takes out of the shipped configuration is out, and all
// else is in.
func TestConfigure(t *testing.T) {
	t.Parallel()
	shipped, err := os.ReadFile("../../../envoy/adaptive.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type parts struct {
		Log    bool
		Filter string
	}
	for k, want := range map[Kind]parts{
		Adaptive:    {true, "envoy.filters.http.ratelimit"},
		Static:      {true, "envoy.filters.http.ratelimit"},
		Blind:       {false, "envoy.filters.http.ratelimit"},
		Concurrency: {false, "envoy.filters.http.adaptive_concurrency"},
	} {
		text, err := configure(string(shipped), k, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var config any
		if err := yaml.Unmarshal([]byte(text), &config); err != nil {
			t.Fatal(err)
		}
		manager, err := find(config, "static_resources", "listeners", 0, "filter_chains", 0, "filters", 0, "typed_config")
		if err != nil {
			t.Fatal(err)
		}
		filter, err := find(manager, "http_filters", 0)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filter["name"].(string)
		if diff := cmp.Diff(want, parts{manager["access_log"] != nil, name}); diff != "" {
			t.Errorf("%v (-want +got):\n%s", k, diff)
		}
		if _, err := find(config, "static_resources", "clusters", 1); err != nil {
			t.Error(err)
		}
	}
}

func TestConfigureOther(t *testing.T) {
	t.Parallel()
	for _, shipped := range []string{
		"}", "[]", "static_resources: {}", "static_resources: {listeners: []}",
		"static_resources: {listeners: [{filter_chains: [{filters: [{typed_config: {}}]}]}]}",
		"static_resources: {listeners: [{filter_chains: [{filters: [{typed_config: {http_filters: [1]}}]}]}]}",
	} {
		if _, err := configure(shipped, Blind, time.Second); err == nil || !strings.Contains(err.Error(), "Envoy configuration") {
			t.Errorf("%s: error %v", shipped, err)
		}
	}
}
