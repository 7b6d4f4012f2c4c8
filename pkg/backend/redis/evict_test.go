package redis

import "testing"

// TestEviction makes room for a refusal in a full shard: by all that have ended, and
// only if none has by one that has not.
func TestEviction(t *testing.T) {
	t.Parallel()
	const most, now = evictionSample, 100
	for _, row := range []struct{ ended, left int }{{most - 1, 2}, {1, most}, {0, most}} {
		for range 100 { // which entries are looked at first is chance
			s := refusalShard{entries: map[refusalKey]refusal{}}
			for i := range most {
				until := int64(now + 1)
				if i < row.ended {
					until = now
				}
				s.entries[refusalKey{uint64(i)}] = refusal{until: until}
			}
			s.remember(refusalKey{most}, &refusal{at: now, until: now + 1}, 0, most)
			holding := 0
			for _, entry := range s.entries {
				if entry.until > now {
					holding++
				}
			}
			want := min(most+1-row.ended, most)
			if _, ok := s.entries[refusalKey{most}]; !ok || len(s.entries) != row.left || holding != want {
				t.Fatalf("%d ended: %d are left, %d of them hold, want %d and %d", row.ended, len(s.entries), holding, row.left, want)
			}
		}
	}
}
