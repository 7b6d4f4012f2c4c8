package service

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/pkg/backend"
)

// Headers are the response headers that rls writes itself, for callers of an
// Envoy that is not told to write its own. They speak of the deciding rule.
type Headers struct {
	// RetryAfter adds Retry-After to refusals: whole seconds until the same
	// request passes. None where no wait helps.
	RetryAfter bool
	// XRateLimit adds x-ratelimit-limit, -remaining and -reset in the form of
	// Envoy's own, draft-polli-ratelimit-headers-03.
	XRateLimit bool
	// IETF adds RateLimit-Policy and RateLimit as draft-ietf-httpapi-ratelimit-headers-10
	// has them.
	IETF bool
	// Limit, Remaining and Reset name three headers with plain numbers, as
	// envoyproxy/ratelimit adds them; empty = none of the three.
	Limit, Remaining, Reset string
}

// add writes the headers of an evaluation into its answer.
func (h *Headers) add(e *Evaluation, a *codec.Response) {
	if h.Limit != "" {
		h.plain(e, a)
	}
	r := e.Deciding()
	if r == nil || r.Answer.Source == backend.FromFallback {
		return // better none than false numbers
	}
	add := func(key, value string) {
		a.ResponseHeaders = append(a.ResponseHeaders, codec.Header{Key: key, Value: value})
	}
	reset := strconv.FormatInt(int64(r.Reset()/time.Second), 10)
	remaining, limit := decimal(r.Remaining()), decimal(r.RequestsPerUnit())
	if h.RetryAfter && e.Verdict == backend.OverLimit && r.Over() && !r.never() {
		add("retry-after", reset)
	}
	if h.XRateLimit {
		add("x-ratelimit-limit", limit+", "+limit+r.policy(";name="))
		add("x-ratelimit-remaining", remaining)
		add("x-ratelimit-reset", reset)
	}
	if h.IETF {
		name := quoted(r.Rule.Label())
		add("RateLimit-Policy", name+";q="+limit+r.policy(""))
		add("RateLimit", name+";r="+remaining+";t="+reset)
	}
}

// policy is the parameters of a limit: its window in whole seconds, left out if
// it has a part of one, and the rule's name behind a word, if it has one.
func (r *Result) policy(nameWord string) string {
	text := ""
	if window := r.Limit.Limit.Window(); window >= time.Second && window%time.Second == 0 {
		text = ";w=" + strconv.FormatInt(int64(window/time.Second), 10)
	}
	if nameWord != "" && r.Rule.Name != "" {
		text += nameWord + quoted(r.Rule.Name)
	}
	return text
}

// plain adds envoyproxy/ratelimit's three headers. Their source is the last
// descriptor over that is no quota rule, else the first with the least remaining.
func (h *Headers) plain(e *Evaluation, a *codec.Response) {
	var found *Result
	for i := range e.Results {
		r := &e.Results[i]
		switch {
		case r.Answer == nil:
		case r.Over() && !r.Rule.Quota:
			found = r
		case found == nil || (!found.Over() || found.Rule.Quota) && r.Remaining() < found.Remaining():
			found = r
		}
	}
	if found == nil {
		return
	}
	a.ResponseHeaders = append(a.ResponseHeaders,
		codec.Header{Key: h.Limit, Value: decimal(found.RequestsPerUnit())},
		codec.Header{Key: h.Remaining, Value: decimal(found.Remaining())},
		codec.Header{Key: h.Reset, Value: strconv.FormatInt(int64(found.Reset()/time.Second), 10)})
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// quoted is text as a Structured Field string (RFC 9651, 3.3.3), which has only
// printable ASCII; other bytes are written as %XX, so that no name can end the
// header or begin another.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
