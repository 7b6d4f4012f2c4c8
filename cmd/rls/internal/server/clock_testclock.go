//go:build testclock

package server

import (
	"os"
	"strconv"
	"strings"
)

// storeClock is a clock that tests set: the file named by RLS_TEST_CLOCK holds
// the time in ns since the epoch. It is not in a release.
func storeClock() func() int64 {
	path := os.Getenv("RLS_TEST_CLOCK")
	if path == "" {
		return nil
	}
	return func() int64 {
		data, err := os.ReadFile(path) //nolint:gosec // a test's own file
		if err != nil {
			panic(err)
		}
		now, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		if err != nil {
			panic(err)
		}
		return now
	}
}
