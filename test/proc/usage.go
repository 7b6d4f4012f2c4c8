package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc/PID/stat, the same on every Linux that Go
// runs on.
const tick = 10 * time.Millisecond

// CPU is the time that a process has used so far, in user and kernel mode. It is
// exact to 20 ms.
func CPU(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading CPU time: %w", err)
	}
	// The second field is the program's name in parentheses, and may hold anything.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	const user, kernel = 14 - 3, 15 - 3
	var ticks int64
	for _, i := range []int{user, kernel} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading CPU time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// RSS is the memory, in bytes, that a process has resident.
func RSS(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading memory: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS", pid)
}
