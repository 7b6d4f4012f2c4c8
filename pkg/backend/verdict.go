package backend

// Judge forms the verdict of a request from its asks' modes and answers. An
// answer with an error counts by its rule's policy.
//
// The verdict is OverLimit if an enforced ask is over, or if there are quota
// asks and all of them are over; Failed if it is not OverLimit and an ask that
// must not be guessed was not decided. A shadow ask never counts as over and
// never fails a request; in shadow, a quota ask counts as one that passes.
func Judge(req *Request, answers []Answer) Verdict {
	var over, failed bool
	quotas, quotasOver := 0, 0
	if req.QuotaPass {
		quotas++
	}
	for i := range req.Asks {
		ask := &req.Asks[i]
		refused := false
		if ask.Mode&Shadow == 0 {
			refused, failed = judgeOne(ask.Rule.OnError, &answers[i], failed)
		}
		switch {
		case ask.Mode&Quota != 0:
			quotas++
			if refused {
				quotasOver++
			}
		case refused:
			over = true
		}
	}
	switch {
	case over || quotasOver > 0 && quotasOver == quotas:
		return OverLimit
	case failed:
		return Failed
	default:
		return OK
	}
}

func judgeOne(policy OnError, a *Answer, failed bool) (refused, stillFailed bool) {
	if a.Err == nil || policy == OnErrorLocal {
		return !a.Allowed, failed
	}
	switch policy {
	case OnErrorAllow:
		return false, failed
	case OnErrorDeny:
		return true, failed
	default:
		return false, true
	}
}
