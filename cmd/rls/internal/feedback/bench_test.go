package feedback

import (
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// BenchmarkAccessLog reads a message of ten entries, as Envoy sent it, about one
// target.
func BenchmarkAccessLog(b *testing.B) {
	m := captured(b)
	for _, e := range m.GetHttpLogs().GetLogEntry() {
		about(e, "a")
	}
	wire := encoded(b, m)
	b.SetBytes(int64(len(wire)))
	b.ReportAllocs()
	book := NewBook(time.Now)
	book.SetTargets([]string{"a"})
	l := newLog(book, who{address: "envoy"})
	for b.Loop() {
		l.Decode(wire)
		l.book()
	}
}

// BenchmarkFlood is the most that one report can cost: a histogram of all buckets
// onto a full one.
func BenchmarkFlood(b *testing.B) {
	now := epoch()
	book := NewBook(func() time.Time { return now })
	book.SetTargets([]string{"a"})
	r := &report{target: "a", reporter: key{name: "x"}, start: now.Add(-time.Second), end: now}
	for bucket := range adaptive.LastBucket + 1 {
		r.row.Latency.Add(bucket, 1)
	}
	for b.Loop() {
		r.sequence++
		if got := book.add(r); got != Accepted {
			b.Fatal(got)
		}
	}
}
