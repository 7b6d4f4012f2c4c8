package algorithms

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func checkRefused(t *testing.T, p Params, fields ...string) {
	t.Helper()
	_, err := New(p)
	var errs ParamErrors
	if !errors.As(err, &errs) {
		t.Fatalf("New(%+v): error %v, want ParamErrors", p, err)
	}
	got := make([]string, len(errs))
	for i, e := range errs {
		got[i] = e.Field
	}
	if diff := cmp.Diff(fields, got); diff != "" {
		t.Errorf("New(%+v): %v, fields (-want +got):\n%s", p, err, diff)
	}
}
