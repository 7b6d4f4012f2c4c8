package descriptors

import "slices"

// The words of envoyproxy/ratelimit, which takes each of them at any level and
// ignores it where it means nothing; and ours, which are errors there.
var (
	theirWords = []string{
		"domain", "descriptors", "key", "value", "rate_limit", "unit", "requests_per_unit", "unlimited", "shadow_mode", "quota_mode",
		"name", "replaces", "detailed_metric", "value_to_metric", "share_threshold", "metadata",
	}
	ourWords = []string{
		"defaults", "algorithm", "variant", "buckets", "mode", "align", "burst", "max_delay", "overdraft", "period", "unit_multiplier",
		"on_error", "charge", "allow_refunds", "adaptive", "min_limit", "max_limit", "target", "burst_ratio", "error_ratio", "latency",
		"quantile", "threshold",
	}
)

var (
	algorithmWords = []string{"fixed_window", "sliding_window", "token_bucket", "leaky_bucket", "gcra", "adaptive"}
	onErrorWords   = []string{"error", "allow", "deny", "local"}
)

// The mappings of a rule file.
var (
	fileShape       = &shape{name: "a rule file", words: []string{"domain", "defaults", "descriptors"}}
	defaultsShape   = &shape{name: "defaults", words: []string{"algorithm", "on_error", "charge", "allow_refunds"}, ours: true}
	descriptorShape = &shape{name: "a descriptor", words: []string{
		"key", "value", "rate_limit", "descriptors", "shadow_mode", "quota_mode", "detailed_metric", "value_to_metric", "share_threshold", "metadata",
	}}
	limitShape = &shape{name: "rate_limit", words: []string{
		"algorithm", "requests_per_unit", "unit", "unit_multiplier", "period", "burst", "overdraft", "name", "replaces", "unlimited", "on_error",
		"variant", "buckets", "mode", "max_delay", "align", "adaptive",
	}}
	replacesShape = &shape{name: "an item of replaces", words: []string{"name"}}
	adaptiveShape = &shape{
		name: "adaptive", words: []string{"min_limit", "max_limit", "target", "burst_ratio", "error_ratio", "latency"}, ours: true,
	}
	latencyShape = &shape{name: "latency", words: []string{"quantile", "threshold"}, ours: true}
)

// homes are the names of the mappings that take a word.
func homes(word string) []string {
	var names []string
	for _, s := range []*shape{fileShape, defaultsShape, descriptorShape, limitShape, replacesShape, adaptiveShape, latencyShape} {
		if slices.Contains(s.words, word) {
			names = append(names, s.name)
		}
	}
	return names
}
