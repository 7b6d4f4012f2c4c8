package reports

import (
	"strings"
	"testing"
)

// TestWM02AWildcardBelowTheFirstLevel counts, and so do the rules below it.
func TestWM02AWildcardBelowTheFirstLevel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `domain: t
descriptors:
  - key: a
    value: x
    descriptors:
      - key: path
        value: /v1/*
        descriptors: [{key: m, value: GET, rate_limit: {requests_per_unit: 1, unit: minute}}]
`)
	w.is("Q(a=x,path=/v1/p,m=GET) x2", "1 OK, 1 OVER")
	w.says("Q(a=x,path=/v1/p,m=POST)", "OK, no limit")
	w.says("Q(a=x,path=/v2/p,m=GET)", "OK, no limit")
}

// TestWM03ACounterPerValueOrPerPattern, by share_threshold, on the rule itself or
// on the wildcard above it.
func TestWM03ACounterPerValueOrPerPattern(t *testing.T) {
	t.Parallel()
	const limit = "rate_limit: {requests_per_unit: 1, unit: minute}"
	for _, row := range []struct{ name, rule, below, want string }{
		{"per value", limit, "", "OK"},
		{"shared", "share_threshold: true, " + limit, "", "OVER"},
		{"per value of the parent", "descriptors: [{key: m, " + limit + "}]", ",m=GET", "OK"},
		{"shared by the parent", "share_threshold: true, descriptors: [{key: m, " + limit + "}]", ",m=GET", "OVER"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "domain: t\ndescriptors: [{key: path, value: /files/*, "+row.rule+"}]\n")
			w.is("Q(path=/files/a"+row.below+")", "1 OK")
			w.is("Q(path=/files/b"+row.below+")", "1 "+row.want)
			w.is("Q(path=/files/a"+row.below+")", "1 OVER")
		})
	}
}

// TestWM04TheFirstListedPatternWins, in each order and in each process anew.
func TestWM04TheFirstListedPatternWins(t *testing.T) {
	t.Parallel()
	patterns := []string{"/*", "/api/*", "/api/v2/*"}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		var rules []string
		for _, i := range order {
			rules = append(rules, "{key: path, value: "+patterns[i]+", rate_limit: {requests_per_unit: 1000, unit: hour, name: '"+patterns[i]+"'}}")
		}
		text := "domain: t\ndescriptors: [" + strings.Join(rules, ", ") + "]\n"
		for range 20 {
			w := newWorld(t, text)
			for _, a := range w.answers("Q(path=/api/v2/x) x50") {
				if got, want := a.Statuses[0].Limit.Name, patterns[order[0]]; got != want {
					t.Fatalf("%v: %s decided, want %s", order, got, want)
				}
			}
		}
	}
}

// TestWM05AQueryDodgesAnExactPath: rls check says so.
func TestWM05AQueryDodgesAnExactPath(t *testing.T) {
	t.Parallel()
	of := func(value string) []string {
		return findings(t, "domain: t\ndescriptors: [{key: path, value: "+value+", rate_limit: {requests_per_unit: 1, unit: minute}}]\n")
	}
	if got := of("/p"); len(got) != 1 || !strings.Contains(got[0], "/p?x=1") {
		t.Errorf("rls check says %q, want a warning of /p?x=1", got)
	}
	if got := of("/p*"); len(got) != 0 {
		t.Errorf("rls check says %q of a path with a wildcard, want nothing", got)
	}
}
