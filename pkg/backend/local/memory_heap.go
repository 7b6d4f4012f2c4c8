//go:build !unix || race

package local

// mapChunk returns zeroed memory: of the Go heap, where the race detector sees it.
func mapChunk(size int) []byte { return make([]byte, size) }

// dropPage does nothing: the page stays with the arena.
func dropPage([]byte) {}

// unmapChunk leaves the chunk to the collector.
func unmapChunk([]byte) {}
