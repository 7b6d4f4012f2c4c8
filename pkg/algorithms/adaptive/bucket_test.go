package adaptive

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// An edge e of place k is the nearest float64 to 2^(k/32): half a step to
// either side of it, to the 32nd power, lies on either side of 2^k.
func TestEdgesAreTheNearestFloats(t *testing.T) {
	t.Parallel()
	for k, e := range edges {
		power := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(k)))
		if k == 0 {
			if e != 1 {
				t.Errorf("edge 0 is %v", e)
			}
			continue
		}
		below, above := halfway(e, math.Nextafter(e, 1)), halfway(e, math.Nextafter(e, 2))
		if pow32(below).Cmp(power) >= 0 || pow32(above).Cmp(power) <= 0 {
			t.Errorf("edge %d is %v, not the nearest", k, e)
		}
	}
}

func halfway(a, b float64) *big.Rat {
	sum := new(big.Rat).Add(new(big.Rat).SetFloat64(a), new(big.Rat).SetFloat64(b))
	return sum.Quo(sum, big.NewRat(2, 1))
}

func pow32(x *big.Rat) *big.Rat {
	for range 5 {
		x = new(big.Rat).Mul(x, x)
	}
	return x
}

// otlpEdge is the upper edge of a bucket of an OTLP exponential histogram of
// scale 5: index i holds (2^(i/32), 2^((i+1)/32)].
func otlpEdge(index int) float64 {
	octave := int(math.Floor(float64(index+1) / 32))
	return math.Ldexp(edges[index+1-32*octave], octave)
}

func TestBucketsAreThoseOfOTLP(t *testing.T) {
	t.Parallel()
	for bucket := range LastBucket + 1 {
		edge := otlpEdge(bucket - 545)
		above := min(bucket+1, LastBucket)
		if got := Bucket(edge); got != bucket {
			t.Errorf("edge %v is in bucket %d, want %d", edge, got, bucket)
		}
		if got := Bucket(math.Nextafter(edge, 1000)); got != above {
			t.Errorf("just above %v is bucket %d, want %d", edge, got, above)
		}
		if got := Bucket(math.Nextafter(edge, 0)); got != bucket {
			t.Errorf("just below %v is bucket %d, want %d", edge, got, bucket)
		}
		if got := Bucket(Middle(bucket)); got != bucket {
			t.Errorf("the middle of bucket %d is in bucket %d", bucket, got)
		}
	}
}

func TestBucketOfOddLatencies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		seconds float64
		want    int
	}{
		{"zero", 0, 0},
		{"negative", -1, 0},
		{"NaN", math.NaN(), 0},
		{"minus infinity", math.Inf(-1), 0},
		{"the smallest number", 5e-324, 0},
		{"the floor", 1.0 / (1 << 17), 0},
		{"a second", 1, 544},
		{"above a second", 1.0000001, 545},
		{"the end", 128, LastBucket},
		{"beyond the end", 1e9, LastBucket},
		{"infinity", math.Inf(1), LastBucket},
	}
	for _, tt := range tests {
		if got := Bucket(tt.seconds); got != tt.want {
			t.Errorf("%s: bucket %d, want %d", tt.name, got, tt.want)
		}
	}
	if Middle(-1) != Middle(0) || Middle(LastBucket+1) != Middle(LastBucket) {
		t.Error("the middle of a bucket out of range is not that of the nearest")
	}
}

func TestMiddleIsNearAllOfABucket(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		x := math.Exp2(-17 + 24*random.Float64())
		if off := math.Abs(Middle(Bucket(x))-x) / x; off > 0.0109 {
			t.Fatalf("%v stands for %v, off by %v", Middle(Bucket(x)), x, off)
		}
	}
}
