package adaptive

import (
	"math"
	"sort"
)

// LastBucket is the index of the last bucket. It takes everything above its
// lower edge.
//
// Bucket b holds (2^(-17+(b-1)/32), 2^(-17+b/32)] s, bucket 0 everything up to
// 2^-17 s (7.63 µs). The edges are those of an OTLP exponential histogram of
// scale 5, whose index is b - 545: data in seconds move over without loss. A
// bucket's middle is within 1.1 % of all that it holds.
const LastBucket = octaves * perOctave

const (
	perOctave = 32
	octaves   = 24
	lowest    = -17 // log2 of the first edge in seconds

	// middle is 2/(1+2^(1/32)): a bucket's upper edge times middle is as far, in
	// proportion, from the one edge as from the other.
	middle = 0.9891699987466264
)

// edges are the powers of 2^(1/32) from 1 up to 2, each the nearest float64.
// Only Bucket and Middle read them, nothing writes them.
var edges = [perOctave]float64{
	1.0, 1.0218971486541166, 1.0442737824274138, 1.0671404006768237,
	1.0905077326652577, 1.1143867425958924, 1.1387886347566916, 1.1637248587775775,
	1.189207115002721, 1.215247359980469, 1.241857812073484, 1.2690509571917332,
	1.2968395546510096, 1.3252366431597413, 1.3542555469368927, 1.383909881963832,
	1.4142135623730951, 1.4451808069770467, 1.4768261459394993, 1.5091644275934228,
	1.5422108254079407, 1.5759808451078865, 1.6104903319492543, 1.645755478153965,
	1.681792830507429, 1.718619298122478, 1.7562521603732995, 1.7947090750031072,
	1.8340080864093424, 1.8741676341103, 1.9152065613971474, 1.9571441241754002,
}

// Bucket is the index of the bucket that holds a latency. An edge, as the
// nearest float64, belongs to the bucket below it. What is no latency, negative
// or NaN, falls into bucket 0: keep it out.
func Bucket(seconds float64) int {
	switch {
	case math.IsNaN(seconds) || seconds <= math.Ldexp(1, lowest):
		return 0
	case seconds >= math.Ldexp(1, lowest+octaves):
		return LastBucket
	}
	half, exponent := math.Frexp(seconds) // half in [0.5, 1)
	return (exponent-1-lowest)*perOctave + sort.SearchFloat64s(edges[:], 2*half)
}

// Middle is the latency, in seconds, that stands for all of a bucket.
func Middle(bucket int) float64 {
	bucket = max(0, min(bucket, LastBucket))
	return math.Ldexp(edges[bucket%perOctave], bucket/perOctave+lowest) * middle
}
