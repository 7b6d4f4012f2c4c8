//go:build race

package redis_test

// How much the slow tests do: more without the race detector.
const (
	walks      = 2
	walkSteps  = 2000
	wideRules  = 100
	memoryKeys = 50_000
)
