package service

import (
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
)

const (
	// retell is how long the log is silent about an unknown domain after a line.
	retell = time.Minute
	// maxTold is the most unknown domains that get a line in that time, and so what
	// strangers keeps.
	maxTold = 100
	// maxKeys and maxText, in bytes, bound a line.
	maxKeys, maxText = 8, 100
)

// strangers are the unknown domains that the log has told of. A domain that is
// spelled in Envoy's configuration unlike in the rule files is not limited at all.
type strangers struct {
	log  *zap.Logger
	seed maphash.Seed
	mu   sync.Mutex
	told map[uint64]time.Time // by the hash of a name, which may be long
}

func newStrangers(log *zap.Logger) *strangers {
	return &strangers{log: log, seed: maphash.MakeSeed(), told: map[uint64]time.Time{}}
}

// saw logs a request for an unknown domain, unless that was done just before.
func (s *strangers) saw(q *codec.Request, set *rules.Set, now time.Time) {
	if !s.due(q.Domain, now) {
		return
	}
	entries := q.Descriptors[0].Entries
	keys := make([]string, min(len(entries), maxKeys))
	for i := range keys {
		keys[i] = cut(entries[i].Key)
	}
	s.log.Warn("no rule file has this domain, so its requests are not limited",
		zap.String("domain", cut(q.Domain)), zap.String("nearest", set.Tree.Nearest(q.Domain)), zap.Strings("keys", keys))
}

func (s *strangers) due(domain string, now time.Time) bool {
	id := maphash.String(s.seed, domain)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.told[id]; ok && now.Sub(at) < retell {
		return false
	}
	if len(s.told) >= maxTold {
		maps.DeleteFunc(s.told, func(_ uint64, at time.Time) bool { return now.Sub(at) >= retell })
	}
	if len(s.told) >= maxTold {
		return false
	}
	s.told[id] = now
	return true
}

func cut(text string) string { return text[:min(len(text), maxText)] }
