package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

// serveJSON is /json as envoyproxy/ratelimit has it: a RateLimitRequest in
// proto3 JSON, answered by a RateLimitResponse with status 200, or 429 when over
// the limit. Whatever fails is 400, with the reason in the log at debug. But for
// compat mode it is 503 with the reason where no rule decided, which is no fault
// of the request.
func (s *Server) serveJSON(w http.ResponseWriter, r *http.Request) {
	answer, err := s.answerJSON(w, r)
	if err != nil {
		s.log.Debug("refused a request to /json", zap.Error(err))
		if s.settings.Compat == "" && status.Code(err) == codes.Unavailable {
			http.Error(w, status.Convert(err).Message(), http.StatusServiceUnavailable)
			return
		}
		http.Error(w, http.StatusText(http.StatusBadRequest), http.StatusBadRequest)
		return
	}
	body, err := protojson.Marshal(answer)
	if err != nil {
		s.log.Error("writing the answer of /json", zap.Error(err))
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if answer.GetOverallCode() == rlspb.RateLimitResponse_OVER_LIMIT {
		w.WriteHeader(http.StatusTooManyRequests)
	}
	_, _ = w.Write(body) //nolint:gosec // JSON, and said to be
}

// answerJSON takes the way of a gRPC call, through the same codec.
func (s *Server) answerJSON(w http.ResponseWriter, r *http.Request) (*rlspb.RateLimitResponse, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return nil, err
	}
	message := &rlspb.RateLimitRequest{}
	if err := protojson.Unmarshal(body, message); err != nil {
		return nil, malformed(err)
	}
	wire, err := proto.Marshal(message)
	if err != nil {
		return nil, err
	}
	c := codec.New()
	response, err := s.service.Answer(r.Context(), func(to any) error {
		return c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(wire)}, to)
	})
	if err != nil {
		return nil, err
	}
	data, err := c.Marshal(response)
	if err != nil {
		return nil, err
	}
	answer := &rlspb.RateLimitResponse{}
	return answer, proto.Unmarshal(data.Materialize(), answer)
}

// malformed says where a message has its fault. protojson would quote the
// message, which may hold secrets.
func malformed(err error) error {
	_, place, _ := strings.Cut(err.Error(), "(line ")
	place, _, _ = strings.Cut(place, ")")
	return fmt.Errorf("no RateLimitRequest in proto3 JSON: fault at line:column %s", place)
}
