package redis

import (
	"context"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// fallBack answers the asks that Redis did not decide by their rules' policies.
func (r *Redis) fallBack(ctx context.Context, req *backend.Request, answers []backend.Answer) {
	local := 0
	for i := range req.Asks {
		a := &answers[i]
		if a.Err == nil {
			continue
		}
		r.errors[KindOf(a.Err)].Add(1)
		rule := req.Asks[i].Rule
		a.Decision = algorithms.Decision{Allowed: rule.OnError == backend.OnErrorAllow}
		a.Source = backend.FromFallback
		if a.Now == 0 {
			a.Now = r.wall()
		}
		if rule.OnError == backend.OnErrorLocal {
			local++
		}
	}
	if local > 0 && r.local != nil {
		r.decideLocally(ctx, req, answers, local)
	}
}

// decideLocally asks this process' own store about the asks of OnErrorLocal. It
// charges none of them if the others refuse the request already.
func (r *Redis) decideLocally(ctx context.Context, req *backend.Request, answers []backend.Answer, local int) {
	isLocal := func(i int) bool { return answers[i].Err != nil && req.Asks[i].Rule.OnError == backend.OnErrorLocal }
	sub := &backend.Request{Charge: req.Charge, QuotaPass: req.QuotaPass, Asks: make([]backend.Ask, 0, local)}
	others, given := &backend.Request{QuotaPass: req.QuotaPass}, []backend.Answer(nil)
	for i := range req.Asks {
		ask := &req.Asks[i]
		if isLocal(i) {
			sub.Asks = append(sub.Asks, *ask)
			continue
		}
		if ask.Mode&backend.Quota != 0 {
			one := &backend.Request{Asks: req.Asks[i : i+1]}
			if backend.Judge(one, answers[i:i+1]) != backend.OverLimit {
				sub.QuotaPass = true
			}
			continue
		}
		others.Asks, given = append(others.Asks, *ask), append(given, answers[i])
	}
	if req.Charge == backend.AllOrNothing && backend.Judge(others, given) == backend.OverLimit {
		sub.Charge = backend.Look
	}
	decided := make([]backend.Answer, local)
	r.local.Decide(ctx, sub, decided)
	for i := range req.Asks {
		if isLocal(i) {
			a := &decided[0]
			answers[i].Decision, answers[i].Used, answers[i].Now = a.Decision, a.Used, a.Now
			decided = decided[1:]
		}
	}
}
