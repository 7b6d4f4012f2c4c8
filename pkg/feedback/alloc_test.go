//go:build !race

package feedback

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc"
)

// TestAllocations bounds what observing a call adds. The race detector allocates
// for itself; other tests do, too, so this one does not run beside them.
func TestAllocations(t *testing.T) {
	c := client(t, nil, Options{})
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	resp := &http.Response{StatusCode: http.StatusOK}
	rt := c.RoundTripper(trip(func(*http.Request) (*http.Response, error) { return resp, nil }))
	unary, server, open := c.UnaryClientInterceptor(), c.UnaryServerInterceptor(), c.StreamClientInterceptor()
	invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	handle := func(context.Context, any) (any, error) { return nil, nil }
	streamer := (&script{}).open
	h := c.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	w := httptest.NewRecorder()
	tests := []struct {
		name string
		most float64
		call func()
	}{
		{name: "HTTP", call: func() { rt.RoundTrip(req) }}, //nolint:errcheck,bodyclose // neither is there
		{name: "HTTP server", most: 1, call: func() { h.ServeHTTP(w, req) }},
		{name: "gRPC", most: 2, call: func() { unary(t.Context(), "", nil, nil, nil, invoke) }},    //nolint:errcheck // none
		{name: "gRPC server", call: func() { server(t.Context(), nil, nil, handle) }},              //nolint:errcheck // none
		{name: "gRPC stream", most: 6, call: func() { open(t.Context(), nil, nil, "", streamer) }}, //nolint:errcheck // none
	}
	for _, tt := range tests {
		if got := testing.AllocsPerRun(1000, tt.call); got > tt.most {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, got, tt.most)
		}
	}
}
