package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestK803Kubernetes: the shipped objects start rls with flags that it has, take
// its port for gRPC, and leave it the time to drain.
func TestK803Kubernetes(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(programs.root, "deploy", "kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(data), "\n---\n")
	deployment, service := document(t, documents[0]), document(t, documents[1])
	pod := at(t, deployment, "spec", "template", "spec")
	var args []string
	list, ok := at(t, pod, "containers", 0, "args").([]any)
	if !ok {
		t.Fatal("args is no list")
	}
	for _, a := range list {
		text, ok := a.(string)
		if !ok {
			t.Fatalf("argument %v is no text", a)
		}
		args = append(args, strings.Replace(text, "/etc/rls", filepath.Join(programs.root, "config", "examples"), 1))
	}
	startRLS(t, rulesOf(t, "domain: d\n"), args[1:]...) // the last --config wins
	want := map[string]any{"name": "grpc-rls", "port": 8081, "targetPort": "grpc", "appProtocol": "grpc"}
	if diff := cmp.Diff(want, at(t, service, "spec", "ports", 0)); diff != "" {
		t.Errorf("port of the Service:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"name": "grpc", "containerPort": 8081}, at(t, pod, "containers", 0, "ports", 0)); diff != "" {
		t.Errorf("port of the container:\n%s", diff)
	}
	if grace, ok := at(t, pod, "terminationGracePeriodSeconds").(int); !ok || grace <= 10 {
		t.Errorf("%v s to end, want more than drain delay and timeout, 10 s", grace)
	}
	if diff := cmp.Diff(at(t, deployment, "spec", "template", "metadata", "labels"), at(t, service, "spec", "selector")); diff != "" {
		t.Errorf("labels of the pods (-Deployment +Service):\n%s", diff)
	}
}
