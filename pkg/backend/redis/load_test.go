//go:build !race

package redis_test

// How much the slow tests do: less under the race detector.
const (
	walks      = 4
	walkSteps  = 10_000
	wideRules  = 1000
	memoryKeys = 100_000
)
