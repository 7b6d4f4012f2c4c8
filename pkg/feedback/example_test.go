package feedback_test

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/eb50146d/rls/pkg/feedback"
)

// An application reports how the service that it calls fares.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop() // at the application's end

	conn, err := grpc.NewClient("rls:8081", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return
	}
	observer, err := feedback.New(conn, feedback.Options{
		Target:  "search",
		OnError: func(err error) { fmt.Fprintln(os.Stderr, "reporting to rls:", err) }, // as the application logs
	})
	if err != nil {
		return
	}
	go observer.Run(ctx)

	search := &http.Client{Transport: observer.RoundTripper(http.DefaultTransport)}
	search.CloseIdleConnections() // and all that the application does with it
}
