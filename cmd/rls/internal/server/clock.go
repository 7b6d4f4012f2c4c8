//go:build !testclock

package server

// storeClock is the clock of the local backend: nil, its own.
func storeClock() func() int64 { return nil }
