package loop

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"go.yaml.in/yaml/v3"
)

// Envoy's own controller, and 429 for what it refuses, as rls has it. The update
// interval of 0.1 s in Envoy's documentation sees 20 answers of this service at a
// time, and the limit swings between its bounds; 0.5 s served it best.
const concurrencyFilter = `
name: envoy.filters.http.adaptive_concurrency
typed_config:
  "@type": type.googleapis.com/envoy.extensions.filters.http.adaptive_concurrency.v3.AdaptiveConcurrency
  gradient_controller_config:
    sample_aggregate_percentile: {value: 50}
    concurrency_limit_params: {concurrency_update_interval: 0.5s}
    min_rtt_calc_params: {jitter: {value: 10}, interval: 60s, request_count: 50}
  enabled: {default_value: true, runtime_key: adaptive_concurrency.enabled}
  concurrency_limit_exceeded_status: {code: TooManyRequests}
`

// configure makes the configuration of a run from the shipped one.
func configure(shipped string, k Kind, deadline time.Duration) (string, error) {
	var config, own map[string]any
	if err := errors.Join(yaml.Unmarshal([]byte(shipped), &config), yaml.Unmarshal([]byte(concurrencyFilter), &own)); err != nil {
		return "", fmt.Errorf("reading an Envoy configuration: %w", err)
	}
	manager, err := find(config, "static_resources", "listeners", 0, "filter_chains", 0, "filters", 0, "typed_config")
	if err != nil {
		return "", err
	}
	limit, err := find(manager, "http_filters", 0)
	if err != nil {
		return "", err
	}
	if k == Concurrency {
		clear(limit)
		maps.Copy(limit, own)
	} else if limit, err = find(limit, "typed_config"); err == nil {
		limit["timeout"] = "1s" // a busy machine must not look like an outage of rls
	}
	if k == Concurrency || k == Blind {
		delete(manager, "access_log")
	}
	route, lost := find(manager, "route_config", "virtual_hosts", 0, "routes", 0, "route")
	if err := errors.Join(err, lost); err != nil {
		return "", err
	}
	route["timeout"] = deadline.String()
	text, err := yaml.Marshal(config)
	return string(text), err
}

// find follows keys of mappings and places in lists to a mapping.
func find(from any, path ...any) (map[string]any, error) {
	at := from
	for _, step := range path {
		var next any
		switch step := step.(type) {
		case string:
			if m, ok := at.(map[string]any); ok {
				next = m[step]
			}
		case int:
			if l, ok := at.([]any); ok && step < len(l) {
				next = l[step]
			}
		}
		at = next
	}
	found, ok := at.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the Envoy configuration has no mapping at %v", path)
	}
	return found, nil
}
