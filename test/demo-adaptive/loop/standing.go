package loop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
	"github.com/eb50146d/rls/test/proc"
)

// standing is where a limit is, and why.
type standing struct {
	limit  float64
	reason string
}

// rlsStanding asks rls for the limit of its only adaptive rule called rule.
func rlsStanding(ctx context.Context, rls *proc.RLS, rule string) (standing, error) {
	answer, err := feedbackv1.NewFeedbackServiceClient(rls.Conn()).GetLimits(ctx, &feedbackv1.GetLimitsRequest{})
	if err != nil {
		return standing{}, err
	}
	for _, l := range answer.GetLimits() {
		if l.GetRule() == rule {
			return standing{limit: float64(l.GetRequestsPerUnit()), reason: l.GetReason()}, nil
		}
	}
	return standing{}, fmt.Errorf("rls has no adaptive rule %q", rule)
}

// envoyStanding asks Envoy for the limit of its own controller, in requests at once.
func envoyStanding(ctx context.Context, e *proc.Envoy) (standing, error) {
	const name = "gradient_controller.concurrency_limit"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+proc.Loopback(e.Admin)+"/stats?filter="+name, http.NoBody)
	if err != nil {
		return standing{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return standing{}, err
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return standing{}, err
	}
	_, value, _ := strings.Cut(string(body), name+": ")
	limit, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return standing{}, fmt.Errorf("reading Envoy's %s: %w", name, err)
	}
	return standing{limit: limit}, nil
}
