package adaptive

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// anyNumber is sometimes sensible, sometimes not a number at all.
func anyNumber(random *rand.Rand) float64 {
	odd := []float64{
		0, 1, -1, 0.5, 0.05, 0.9, 5e-324, 1e-12, 1e12, 1e300, -1e300, math.MaxFloat64, -math.MaxFloat64,
		math.NaN(), math.Inf(1), math.Inf(-1), 128, 1 << 53, 1e19,
	}
	switch random.IntN(4) {
	case 0:
		return odd[random.IntN(len(odd))]
	case 1:
		return random.Float64()
	default:
		return 1000 * random.Float64()
	}
}

// anyStats has about one field in ten that makes no sense.
func anyStats(random *rand.Rand) Stats {
	wild := func(sensible float64) float64 {
		if random.IntN(10) == 0 {
			return anyNumber(random)
		}
		return sensible
	}
	p50 := math.Exp2(-17 + 24*random.Float64())
	if random.IntN(10) == 0 {
		p50 = 0
	}
	return Stats{
		Samples: random.Uint64() >> random.IntN(64),
		P50:     wild(p50), P99: wild(p50 * (1 + random.Float64())),
		ErrorRatio: wild(random.Float64() * random.Float64() / 2), OKRatio: wild(random.Float64() * 1.5),
		Admitted: wild(2000 * random.Float64()), Denied: wild(max(0, 500*random.NormFloat64())),
		AdmittedThen: wild(2000 * random.Float64()), Age: wild(3 * random.Float64()), Interval: wild(0.5 + random.Float64()),
	}
}

func anyConfig(random *rand.Rand) Config {
	lowest := math.Exp2(60*random.Float64() - 10)
	highest := lowest * math.Exp2(10*random.Float64())
	c := NewConfig(lowest, highest, lowest+random.Float64()*(highest-lowest))
	switch random.IntN(3) {
	case 0:
		c.Threshold = math.Exp2(-17 + 24*random.Float64())
	case 1:
		c.Threshold, c.Quantile = math.Exp2(-17+24*random.Float64()), 0.99
	}
	c.ErrorRatio = random.Float64()
	return c
}

// sound fails the test unless the limit is within the bounds, and the state can
// be stored and read back.
func sound(t *testing.T, c Config, s State, stats Stats) {
	t.Helper()
	if !(s.Limit >= c.MinLimit && s.Limit <= c.MaxLimit) || !s.Reason.known() {
		t.Fatalf("limit %v (%s), not in [%v, %v], after %+v", s.Limit, s.Reason, c.MinLimit, c.MaxLimit, stats)
	}
	back, err := c.Restore(stored(t, s))
	if err != nil || back != s {
		t.Fatalf("after %+v: %v\n%s", stats, err, cmp.Diff(s, back))
	}
}

func TestLimitStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(11, 12))
	for range 50 {
		c := anyConfig(random)
		s := c.Start()
		for range 200 {
			stats := anyStats(random)
			s = c.Step(s, stats)
			sound(t, c, s, stats)
		}
	}
}

// Whatever ticks claimed, the limit of a healthy service is soon on its way up:
// nothing is stuck for good.
func TestNothingSticks(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(13, 14))
	for range 200 {
		c := NewConfig(50, 2000, 400)
		s := c.Start()
		for range 50 {
			s = c.Step(s, anyStats(random))
		}
		before := 0.0
		for range 300 {
			t := good()
			t.Denied, t.Admitted, t.AdmittedThen = 100, s.Limit, s.Limit
			before, s = s.Limit, c.Step(s, t)
		}
		if s.Limit <= before && s.Limit != c.MaxLimit {
			t.Fatalf("at %v (%s) after five minutes of health\n%+v", s.Limit, s.Reason, s)
		}
	}
}

// Without a pointer in it, a copy of a state shares nothing, and Step cannot
// change what it is given.
func TestStateHasNoPointers(t *testing.T) {
	t.Parallel()
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Struct:
			for field := range typ.Fields() {
				walk(field.Type)
			}
		case reflect.Float64, reflect.Int, reflect.Uint64, reflect.Bool, reflect.String:
		default:
			t.Errorf("%s can share", typ)
		}
	}
	walk(reflect.TypeFor[State]())
	walk(reflect.TypeFor[Stats]())
	walk(reflect.TypeFor[Config]())
}
