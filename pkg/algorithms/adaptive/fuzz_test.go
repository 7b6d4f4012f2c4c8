package adaptive

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// A sketch that can be read is sound, and is written as it was read.
func FuzzSketch(f *testing.F) {
	for _, seed := range []string{`[]`, `null`, `[[0,1],[768,18446744073709551615]]`, `[[1,1],[1,1]]`, `[[1,-1]]`, `[[769,1]]`, `[[1e2,1]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s, again Sketch
		if json.Unmarshal(data, &s) != nil {
			return
		}
		total, last := uint64(0), -1
		for bucket, n := range s.All() {
			if bucket <= last || bucket > LastBucket || n == 0 {
				t.Fatalf("bucket %d after %d holds %d", bucket, last, n)
			}
			total, last = plus(total, n), bucket
		}
		if s.Count() != total {
			t.Fatalf("count %d, want %d", s.Count(), total)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		err = json.Unmarshal(text, &again)
		if err != nil || !again.Equal(s) {
			t.Fatalf("%v: %v came back as %v", err, s, again)
		}
		row := Row{OK: s.Count(), Latency: s}
		if got := Merge([]Row{row, row, row}); (got.P50 > 0) != (total > 0) || !within(got.P99, longestLatency) {
			t.Fatalf("merged to %+v", got)
		}
	})
}

// A state that can be read is one that ticks can go on from.
func FuzzRestore(f *testing.F) {
	for _, st := range stories() {
		_, s := st.play()
		data, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint64(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 17))
		c := anyConfig(random)
		s, err := c.Restore(data)
		if err != nil {
			return
		}
		sound(t, c, s, Stats{})
		for range 30 {
			stats := anyStats(random)
			s = c.Step(s, stats)
			sound(t, c, s, stats)
		}
	})
}
