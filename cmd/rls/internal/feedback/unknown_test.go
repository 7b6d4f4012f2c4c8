package feedback

import (
	"fmt"
	"strings"
	"testing"
	"time"

	alspb "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

// TestManyKnown: an answer does not list a thousand targets.
func TestManyKnown(t *testing.T) {
	t.Parallel()
	s := serve(t, newWorld(t, "k", "j", "i", "h", "g", "f", "e", "d", "c", "b", "a"), loopback, nil, nil, nil)
	_, err := s.tell("x", "x", 1)
	is(t, err, codes.NotFound, `no adaptive rule has the target "x": report about one of ["a" "b" "c" "d" "e" "f" "g" "h" "i" "j"] and others, or set adaptive.target of a rule to it`)
}

// TestUnknownTarget: the log names what no counter can, once a minute, and bounded.
func TestUnknownTarget(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		send func(s *served, target string)
	}{
		{"ReportLatency", func(s *served, target string) {
			_, err := s.tell(target, "x", 1)
			if status.Code(err) != codes.NotFound {
				s.t.Errorf("%v", err)
			}
		}},
		{"StreamLatency", func(s *served, target string) {
			stream := s.stream()
			stream.Send(&feedbackv1.StreamLatencyRequest{Report: &feedbackv1.Report{Target: target, Reporter: "x", Ok: 1}}) //nolint:errcheck // the answer has it
			if _, err := stream.CloseAndRecv(); err != nil {
				s.t.Error(err)
			}
		}},
		{"StreamAccessLogs", func(s *served, target string) {
			stream := s.accessLogs()
			stream.Send(message("", about(endedAt(0), "a"), about(endedAt(0), target), about(endedAt(0), "later"))) //nolint:errcheck // the end has it
			stream.CloseSend()                                                                                      //nolint:errcheck // as that
			stream.RecvMsg(&alspb.StreamAccessLogsResponse{})                                                       //nolint:errcheck // all has been read
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, newWorld(t, "a"), loopback, nil, nil, nil)
			for _, target := range []string{"b\n", "c"} {
				row.send(s, target)
			}
			s.wait(time.Minute)
			row.send(s, strings.Repeat("d", maxName))
			var got []string
			for _, l := range s.logs.FilterMessage("report about a target that no adaptive rule has").All() {
				f := l.ContextMap()
				got = append(got, fmt.Sprintf("%v %q %v %v", l.Level, f["target"], f["from"], f["known"]))
			}
			want := []string{`warn "b\n" 127.0.0.1:5 [a]`, `warn "` + strings.Repeat("d", maxName) + `" 127.0.0.1:5 [a]`}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	s := serve(t, newWorld(t, "a"), elsewhere, nil, nil, nil)
	s.everyCall() // which is logged apart
	s.service.warnUnknown(strings.Repeat("d", maxName+1)+"\xff", who{address: elsewhere})
	if l := s.logs.All(); len(l) != 2 || l[1].ContextMap()["target"] != strings.Repeat("d", maxName) {
		t.Errorf("%v is logged", l)
	}
}
