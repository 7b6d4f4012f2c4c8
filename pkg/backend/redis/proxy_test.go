package redis_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/eb50146d/rls/test/proc"
)

func newProxy(t *testing.T, target string) *proc.Proxy {
	t.Helper()
	p, err := proc.NewProxy(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, p)
	return p
}

// delayed has replies come late.
func delayed(d time.Duration) proc.Meddler {
	return func(sent []byte) []byte {
		time.Sleep(d)
		return sent
	}
}

// cutOnce ends one connection instead of the next reply of a script.
func cutOnce() proc.Meddler {
	var done atomic.Bool
	return func(sent []byte) []byte {
		if sent[0] == '$' && done.CompareAndSwap(false, true) {
			return nil
		}
		return sent
	}
}

// swallow lets nothing back, as a network does that has forgotten a connection.
func swallow([]byte) []byte { return []byte{} }
