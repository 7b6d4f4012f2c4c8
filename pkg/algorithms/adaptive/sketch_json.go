package adaptive

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// MarshalJSON writes [[index, count], …], lowest bucket first.
func (s Sketch) MarshalJSON() ([]byte, error) {
	pairs := make([][2]uint64, 0, len(s.cells))
	for _, c := range s.cells {
		pairs = append(pairs, [2]uint64{uint64(c.bucket), c.count}) //nolint:gosec // an index is not negative
	}
	return json.Marshal(pairs)
}

// UnmarshalJSON reads what MarshalJSON writes and refuses all else: an index
// out of range, out of order or repeated, and a count that is not a whole
// number above 0.
func (s *Sketch) UnmarshalJSON(data []byte) error {
	var pairs [][]*uint64 // pointers, since a null must not pass for a 0
	err := json.Unmarshal(data, &pairs)
	if err != nil {
		return fmt.Errorf("reading a sketch: %w", err)
	}
	read := Sketch{}
	for _, pair := range pairs {
		if len(pair) != 2 {
			return fmt.Errorf("reading a sketch: a pair has %d numbers, want an index and a count", len(pair))
		}
		if slices.Contains(pair, nil) {
			return errors.New("reading a sketch: a pair has a null, want an index and a count")
		}
		err = read.push(*pair[0], *pair[1])
		if err != nil {
			return err
		}
	}
	*s = read
	return nil
}

// push adds a bucket above all those in use.
func (s *Sketch) push(bucket, count uint64) error {
	if bucket > LastBucket {
		return fmt.Errorf("reading a sketch: index is %d, must be at most %d", bucket, LastBucket)
	}
	index := int(bucket)
	if last := len(s.cells) - 1; last >= 0 && index <= s.cells[last].bucket {
		return fmt.Errorf("reading a sketch: index %d follows %d, must rise", index, s.cells[last].bucket)
	}
	if count == 0 {
		return fmt.Errorf("reading a sketch: count of index %d is 0, must be at least 1", index)
	}
	s.Add(index, count)
	return nil
}
