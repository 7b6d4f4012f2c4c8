package adaptive

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func stored(t *testing.T, s State) []byte {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A restart at any tick of any vector goes on as if there had been none.
func TestRestoreResumes(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			c := v.Rule.Config.config()
			s := c.Start()
			for i, tick := range v.Ticks {
				back, err := c.Restore(stored(t, s))
				if diff := cmp.Diff(s, back); err != nil || diff != "" {
					t.Fatalf("before tick %d: %v\n%s", i, err, diff)
				}
				s = c.Step(back, tick.stats())
				if !near(v.Expected[i], s.Limit) {
					t.Fatalf("tick %d: limit %v, want %v", i, s.Limit, v.Expected[i])
				}
			}
		})
	}
}

// The end of each story, with gathered ticks, drains and all, comes back.
func TestRestoreOfEveryReason(t *testing.T) {
	t.Parallel()
	for _, st := range stories() {
		c, s := st.play()
		got, err := c.Restore(stored(t, s))
		if st.ticks == nil {
			s = got // a state that was edited, not stepped
		}
		if diff := cmp.Diff(s, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", st.name, err, diff)
		}
	}
}

func TestRestoreOfAnotherRelease(t *testing.T) {
	t.Parallel()
	c := NewConfig(50, 2000, 400)
	s := c.Start()
	s.Limit, s.Reason = 777, "in a word of tomorrow"
	text := strings.Replace(string(stored(t, s)), "{", `{"more":[1],`, 1)
	got, err := c.Restore([]byte(text))
	if err != nil || got.Limit != 777 || got.Reason != Restored {
		t.Errorf("%v: limit %v (%s)", err, got.Limit, got.Reason)
	}
}

func TestRestoreFitsTheRule(t *testing.T) {
	t.Parallel()
	stepped := func(c Config) State {
		s := c.Step(c.Start(), good())
		s.Level, s.Flat = 0.03, 2
		return s
	}
	learned := NewConfig(50, 2000, 400)
	steeredBy := func(quantile, threshold float64) Config {
		c := learned
		c.Quantile, c.Threshold = quantile, threshold
		return c
	}
	tests := []struct {
		name          string
		before, after Config
		want          func(*State)
	}{
		{"unchanged", learned, learned, func(*State) {}},
		{"bounds around the limit", learned, NewConfig(60, 410, 60), func(*State) {}},
		{"max_limit below", learned, NewConfig(50, 300, 200), func(s *State) { s.Limit, s.Reason = 300, Bounded }},
		{"min_limit above", learned, NewConfig(500, 2000, 600), func(s *State) { s.Limit, s.Reason = 500, Bounded }},
		{"a threshold for the median", learned, steeredBy(0.5, 0.1), func(*State) {}},
		{"a threshold for the tail", learned, steeredBy(0.99, 0.1), func(s *State) {
			s.Quantile, s.Latency, s.Idle, s.Level, s.Flat = 0.99, 0, 0, 0, 0
		}},
		{"no threshold any more", steeredBy(0.99, 0.1), learned, func(s *State) {
			s.Quantile, s.Latency, s.Idle, s.Level, s.Flat = 0.5, 0, 0, 0, 0
		}},
		{"another threshold", steeredBy(0.99, 0.1), steeredBy(0.99, 0.2), func(*State) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := stepped(tt.before)
			got, err := tt.after.Restore(stored(t, s))
			tt.want(&s)
			if diff := cmp.Diff(s, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestRestoreRefusesGarbage(t *testing.T) {
	t.Parallel()
	c := NewConfig(50, 2000, 400)
	sound := string(stored(t, c.Start()))
	tests := []struct{ name, text, want string }{
		{"nothing", ``, "unexpected end"},
		{"null", `null`, "limit is 0"},
		{"empty", `{}`, "limit is 0"},
		{"list", `[]`, "cannot unmarshal array"},
		{"cut short", sound[:len(sound)-1], "unexpected end"},
		{"two", sound + sound, "invalid character"},
		{"NaN", strings.Replace(sound, `"limit":400`, `"limit":NaN`, 1), "invalid character"},
		{"beyond float64", strings.Replace(sound, `"limit":400`, `"limit":1e999`, 1), "cannot unmarshal number 1e999"},
		{"text for a number", strings.Replace(sound, `"limit":400`, `"limit":"400"`, 1), "cannot unmarshal string"},
		{"no limit", strings.Replace(sound, `"limit":400`, `"limit":0`, 1), "limit is 0"},
		{"ten ticks gathered", strings.Replace(sound, `"ticks":0`, `"ticks":10`, 1), "gather.ticks is 10, must be in [0, 9]"},
		{"no growth", strings.Replace(sound, `"growth":0.02`, `"growth":0`, 1), "growth is 0, must be in [0.02, 0.8]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.Restore([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) || got != (State{}) {
				t.Errorf("%+v, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// Every number of a state is checked, at both ends.
func TestRestoreChecksEveryNumber(t *testing.T) {
	t.Parallel()
	c := NewConfig(50, 2000, 400)
	var state map[string]any
	err := json.Unmarshal(stored(t, c.Start()), &state)
	if err != nil {
		t.Fatal(err)
	}
	gathered, ok := state["gather"].(map[string]any)
	if !ok {
		t.Fatal("no gather")
	}
	checked := 0
	each := func(in map[string]any, path string) {
		for name, value := range in {
			if _, number := value.(float64); !number || name == "quantile" { // any other quantile is forgotten
				continue
			}
			for _, bad := range []float64{-1, math.MaxFloat64} {
				in[name] = bad
				data, err := json.Marshal(state)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := c.Restore(data); err == nil {
					t.Errorf("%s%s of %v became %+v", path, name, bad, got)
				}
				checked++
			}
			in[name] = value
		}
	}
	each(state, "")
	each(gathered, "gather.")
	if checked != 62 {
		t.Errorf("%d checks, want 62", checked)
	}
}
