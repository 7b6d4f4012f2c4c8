package redis

import (
	"slices"

	"github.com/eb50146d/rls/pkg/backend"
)

// group is what the script needs to form a request's verdict.
type group struct {
	mode                     int64
	over, quotas, quotasOver int // of keyless asks
	modes, owners            []int64
}

// The bits of a mode in the script.
const (
	modeShadow = 1
	modeQuota  = 2
	modeDeny   = 4
)

// What a group does beside its decision, a bit each.
const (
	looks     = 1 // writes nothing
	tellsBoth = 2 // says what would be there without the charges, too
)

// form gathers what the verdict depends on.
func (c *call) form(req *backend.Request, answers []backend.Answer) {
	g := &c.group
	*g = group{modes: g.modes[:0], owners: g.owners[:0]}
	if req.Charge == backend.Look {
		g.mode |= looks
	}
	if slices.ContainsFunc(c.items, func(it item) bool { return it.prev >= 0 }) {
		g.mode |= tellsBoth
	}
	if req.QuotaPass {
		g.quotas = 1
	}
	for i := range req.Asks {
		ask := &req.Asks[i]
		if c.owners[i] == elsewhere {
			if ask.Mode&backend.Quota != 0 {
				g.quotas++ // it may pass
			}
			continue
		}
		if c.owners[i] != keyless {
			g.modes = append(g.modes, scriptMode(ask))
			g.owners = append(g.owners, int64(c.owners[i])+1)
			continue
		}
		refused := ask.Mode&backend.Shadow == 0 &&
			(answers[i].Err == nil && !answers[i].Allowed || answers[i].Err != nil && ask.Rule.OnError == backend.OnErrorDeny)
		switch {
		case ask.Mode&backend.Quota != 0:
			g.quotas++
			if refused {
				g.quotasOver++
			}
		case refused:
			g.over = 1
		}
	}
}

func scriptMode(ask *backend.Ask) int64 {
	var mode int64
	if ask.Mode&backend.Shadow != 0 {
		mode |= modeShadow
	}
	if ask.Mode&backend.Quota != 0 {
		mode |= modeQuota
	}
	if ask.Rule.OnError == backend.OnErrorDeny {
		mode |= modeDeny
	}
	return mode
}
