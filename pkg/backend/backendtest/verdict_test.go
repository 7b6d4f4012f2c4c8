package backendtest

import (
	"errors"
	"testing"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// TestJudge compares Judge with its restatement for every request of up to three asks.
func TestJudge(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	type judged struct {
		ask    backend.Ask
		answer backend.Answer
	}
	var all []judged
	for mode := range backend.Shadow | backend.Quota + 1 {
		for policy := backend.OnErrorFail; policy <= backend.OnErrorLocal; policy++ {
			for _, allowed := range []bool{false, true} {
				for _, err := range []error{nil, lost} {
					all = append(all, judged{
						backend.Ask{Rule: &backend.Rule{OnError: policy}, Mode: mode},
						backend.Answer{Decision: algorithms.Decision{Allowed: allowed}, Err: err},
					})
				}
			}
		}
	}
	check := func(chosen ...judged) {
		var asks []backend.Ask
		var answers []backend.Answer
		for _, c := range chosen {
			asks, answers = append(asks, c.ask), append(answers, c.answer)
		}
		for _, pass := range []bool{false, true} {
			req := &backend.Request{QuotaPass: pass, Asks: asks}
			if want, got := naiveVerdict(req, answers), backend.Judge(req, answers); want != got {
				t.Errorf("verdict of %+v with pass %t is %d, want %d", chosen, pass, got, want)
			}
		}
	}
	check()
	for _, a := range all {
		check(a)
		for _, b := range all {
			check(a, b)
			for _, c := range all {
				check(a, b, c)
			}
		}
	}
}
