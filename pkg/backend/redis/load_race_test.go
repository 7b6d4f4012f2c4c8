//go:build race

package redis_test

// How much the slow tests do: more without the race detector.
const (
	requestsEach = 100
	walks        = 2
	walkSteps    = 2000
	wideRules    = 100
	memoryKeys   = 100_000
)
