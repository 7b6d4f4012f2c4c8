//go:build linux && !race

package local

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/backend/backendtest"
)

const mostBytesPerKey = 160

// TestMemory fills a store and lets everything expire: it wants little memory a
// key at every size, and none after one round of the sweeper.
func TestMemory(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	l := newStore(t, Options{Now: clock.Now, SweepEvery: idle})
	rule := gcra(t, 1, time.Second)
	const step = 50_000
	for n := range 20 {
		fillKeys(t, l, rule, n*step, step)
		stats := l.Stats()
		if want := (n + 1) * step; stats.Keys != want {
			t.Fatalf("store has %d keys, want %d", stats.Keys, want)
		}
		if most := int64(stats.Keys) * mostBytesPerKey; stats.MemoryBytes > most {
			t.Errorf("%d keys take %d bytes, want at most %d", stats.Keys, stats.MemoryBytes, most)
		}
	}
	check(t, l)
	clock.Advance(time.Minute)
	sweepRound(l)
	if got := l.Stats(); got.Keys != 0 || got.MemoryBytes != 0 {
		t.Errorf("%d keys and %d bytes are left of an expired store", got.Keys, got.MemoryBytes)
	}
}

// TestReleasedPage wants the system to have taken the memory: it reads as zero.
func TestReleasedPage(t *testing.T) {
	t.Parallel()
	a := new(arena)
	defer a.close()
	p := a.alloc()
	p.tags[0] = 1
	a.release(p)
	if p.tags[0] != 0 {
		t.Error("released page keeps its content")
	}
}

// BenchmarkMemory reports what the process grows by a key.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		l := newStore(b, Options{})
		rule := gcra(b, 1, time.Hour)
		before := resident(b)
		const keys = 1_000_000
		fillKeys(b, l, rule, 0, keys)
		b.ReportMetric(float64(resident(b)-before)/keys, "rss-bytes/key")
		b.ReportMetric(float64(l.Stats().MemoryBytes)/keys, "counted-bytes/key")
	}
}

// resident is the resident memory of this process, in bytes.
func resident(b *testing.B) int64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal("reading the resident memory: ", err)
	}
	var size, pages int64
	if _, err := fmt.Fscan(bytes.NewReader(text), &size, &pages); err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
