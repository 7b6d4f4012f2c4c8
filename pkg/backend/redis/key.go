package redis

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"strings"
	"sync"
)

// A key is the prefix, the version of the values' form, a hash tag and the
// identity. The tag is empty, so that a cluster hashes the whole key whatever
// braces an identity holds: no value can choose where its state lives.
const (
	plainTag  = "1{}"
	hashedTag = "1#{}"
	longest   = 128 // bytes of an identity that is written as it is
)

// keyer turns identities into keys.
type keyer struct {
	prefix string
	hmacs  *sync.Pool // of hash.Hash; nil: only long identities are hashed
}

func newKeyer(prefix string, secret []byte) keyer {
	k := keyer{prefix: prefix}
	if len(secret) > 0 {
		k.hmacs = &sync.Pool{New: func() any { return hmac.New(sha256.New, secret) }}
	}
	return k
}

// tagged says whether a prefix would make a hash tag of its own.
func tagged(prefix string) bool { return strings.ContainsAny(prefix, "{}") }

func (k *keyer) appendKey(dst, identity []byte) []byte {
	dst = append(dst, k.prefix...)
	if k.hmacs == nil && len(identity) <= longest {
		dst = append(dst, plainTag...)
		return append(dst, identity...)
	}
	dst = append(dst, hashedTag...)
	if k.hmacs == nil {
		sum := sha256.Sum256(identity)
		return append(dst, sum[:]...)
	}
	mac, ok := k.hmacs.Get().(hash.Hash)
	if !ok {
		panic("redis: the pool of HMACs holds something else")
	}
	defer k.hmacs.Put(mac)
	mac.Reset()
	mac.Write(identity)
	return mac.Sum(dst)
}
