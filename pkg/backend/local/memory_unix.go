//go:build unix && !race

package local

import "golang.org/x/sys/unix"

// mapChunk returns zeroed memory outside the Go heap, or nil if there is none.
func mapChunk(size int) []byte {
	chunk, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return chunk
}

// dropPage lets the system have the memory of b back; its content is lost. A
// system with larger pages would take the neighbours, too, and does not get it.
func dropPage(b []byte) {
	if unix.Getpagesize() > len(b) {
		return
	}
	// A refusal costs the memory, not the meaning: a page is emptied before use.
	_ = unix.Madvise(b, unix.MADV_DONTNEED)
}

// unmapChunk ends a mapping of mapChunk.
func unmapChunk(chunk []byte) {
	// It can only fail for an address that mapChunk did not return.
	_ = unix.Munmap(chunk)
}
