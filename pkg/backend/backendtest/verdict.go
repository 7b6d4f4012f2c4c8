package backendtest

import "github.com/eb50146d/rls/pkg/backend"

// opinion is what one ask says about its request.
type opinion uint8

const (
	fits opinion = iota + 1
	over
	unknown
)

// naiveVerdict says over again what backend.Judge says.
func naiveVerdict(req *backend.Request, answers []backend.Answer) backend.Verdict {
	var enforced, quotas []opinion
	if req.QuotaPass {
		quotas = append(quotas, fits)
	}
	for i, ask := range req.Asks {
		o := opinionOf(ask, answers[i])
		if ask.Mode&backend.Quota != 0 {
			quotas = append(quotas, o)
		} else {
			enforced = append(enforced, o)
		}
	}
	switch {
	case count(enforced, over) > 0, len(quotas) > 0 && count(quotas, over) == len(quotas):
		return backend.OverLimit
	case count(enforced, unknown)+count(quotas, unknown) > 0:
		return backend.Failed
	default:
		return backend.OK
	}
}

func opinionOf(ask backend.Ask, answer backend.Answer) opinion {
	if ask.Mode&backend.Shadow != 0 {
		return fits
	}
	if answer.Err != nil {
		switch ask.Rule.OnError {
		case backend.OnErrorFail:
			return unknown
		case backend.OnErrorAllow:
			return fits
		case backend.OnErrorDeny:
			return over
		case backend.OnErrorLocal:
		}
	}
	if answer.Allowed {
		return fits
	}
	return over
}

func count(opinions []opinion, wanted opinion) int {
	n := 0
	for _, o := range opinions {
		if o == wanted {
			n++
		}
	}
	return n
}
