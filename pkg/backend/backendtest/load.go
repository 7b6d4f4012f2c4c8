//go:build !race

package backendtest

// requestsEach is how many requests each of many goroutines sends.
const requestsEach = 5000
