package feedback

import (
	"bytes"
	"slices"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// accessLog is one stream, and the message that was read last from it: entries
// are used up while they are decoded.
type accessLog struct {
	to       *Book
	from     who
	reporter key  // by the node's id, once that is known
	named    bool // it is
	clock    clock
	now      time.Time // when the last message came in
	samples  []placed
	stranger string // the first names in the last message that no rule has
}

// placed is a sample of a target.
type placed struct {
	target *target
	sample
}

// cell is what samples are added up by.
type cell struct {
	target *target
	second int64 // since the epoch, on our clock
}

func newLog(to *Book, from who) *accessLog {
	return &accessLog{to: to, from: from, reporter: from.envoy("")}
}

// keptSamples is the greatest capacity that waits for the next message, 12 KiB of
// memory: an Envoy may have a stream for each of its threads.
const keptSamples = 1 << 8

// Decode reads a StreamAccessLogsMessage. What is malformed is left out: the
// entry, or all that follows where the end of it cannot be told.
func (l *accessLog) Decode(b []byte) {
	l.now = l.to.now()
	w := wire{rest: b}
	for w.next() {
		switch w.tag {
		case messageIdentifier:
			l.identify(w.b)
		case messageHTTP:
			entries := wire{rest: w.b}
			for entries.next() {
				if entries.tag == logsEntry {
					l.entry(entries.b)
				}
			}
			w.bad = entries.bad
		case messageTCP:
			l.pass(SkipTCP)
		}
	}
	if w.bad {
		l.pass(SkipMalformed)
	}
}

// identify names the reporter by the node's id. The first holds for as long as the
// stream: one stream is one reporter.
func (l *accessLog) identify(b []byte) {
	w := wire{rest: b}
	for w.next() {
		if w.tag != identifierNode {
			continue
		}
		for node := (wire{rest: w.b}); node.next(); {
			if node.tag == nodeID && len(node.b) > 0 && !l.named {
				l.reporter, l.named = l.from.envoy(string(node.b)), true
			}
		}
	}
}

func (l *accessLog) skip(why Skip) { l.to.counts.skipped[why].Add(1) }

// pass skips what cannot be counted entry by entry.
func (l *accessLog) pass(why Skip) {
	l.to.counts.entries.Add(1)
	l.skip(why)
}

// entry notes a sample for each of the entry's targets.
func (l *accessLog) entry(b []byte) {
	l.to.counts.entries.Add(1)
	var e entry
	if !e.decode(b) {
		l.skip(SkipMalformed)
		return
	}
	s, why := e.judge()
	if why != notSkipped {
		l.skip(why)
		return
	}
	first := len(l.samples)
	for name := range bytes.SplitSeq(e.names(), []byte(",")) {
		if len(l.samples)-first == maxTargets {
			break
		}
		t := (*l.to.targets.Load())[string(bytes.TrimSpace(name))]
		if t != nil && !slices.ContainsFunc(l.samples[first:], func(p placed) bool { return p.target == t }) {
			l.samples = append(l.samples, placed{t, s})
		}
	}
	if len(l.samples) == first {
		l.skip(SkipUnknownTarget)
		if l.stranger == "" {
			l.stranger = string(e.names())
		}
	}
}

// maxTargets is how many targets one entry may be about.
const maxTargets = 32

// book adds the samples up and hands them to the Book.
func (l *accessLog) book() {
	defer l.drop()
	l.learn()
	cells := map[cell]*adaptive.Row{}
	for _, s := range l.samples {
		c := l.cell(s)
		if cells[c] == nil {
			cells[c] = &adaptive.Row{}
		}
		s.addTo(cells[c])
	}
	for c, row := range cells {
		if !c.target.log(l.reporter, l.now, c.second, l.clock.delay, row) {
			l.to.counts.skipped[SkipFull].Add(row.OK + row.Errors)
		}
	}
}

// drop forgets the samples. The next message may be hours away, so the memory of a
// large one goes now.
func (l *accessLog) drop() {
	l.stranger = ""
	clear(l.samples)
	if l.samples = l.samples[:0]; cap(l.samples) > keptSamples {
		l.samples = nil
	}
}

// learn sets the clock by the message's entries.
func (l *accessLog) learn() {
	now := l.now.UnixNano()
	var smallest, largest int64
	timed := false
	for _, s := range l.samples {
		if !s.timed {
			continue
		}
		lag := now - s.logged
		if !timed {
			smallest, largest, timed = lag, lag, true
		}
		smallest, largest = min(smallest, lag), max(largest, lag)
	}
	if timed {
		l.clock.saw(l.now, smallest, largest)
	}
}

// cell is where a sample is added up.
func (l *accessLog) cell(s placed) cell {
	at := l.now.Unix()
	if s.timed {
		ended := time.Duration(s.ended + l.clock.skew())
		at = min(at, max(at-maxOpen, int64(ended/time.Second)))
	}
	return cell{s.target, at}
}
