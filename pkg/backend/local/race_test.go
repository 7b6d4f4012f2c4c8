//go:build race

package local

// How much the slow tests do.
const (
	flood     = 50_000
	walkSteps = 3_000
)
