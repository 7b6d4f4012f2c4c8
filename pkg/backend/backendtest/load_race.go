//go:build race

package backendtest

// requestsEach is how many requests each of many goroutines sends: fewer under
// the race detector, which makes each of them slow.
const requestsEach = 500
