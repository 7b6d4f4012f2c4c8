package local

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// chunkBytes is how much the arena asks of the system at once. What is not yet
// handed out has not been touched, so it takes no memory.
const chunkBytes = 1 << 20

// arena hands out pages from memory outside the Go heap, where the collector
// neither scans them nor lets the heap grow to twice their size.
type arena struct {
	inUse atomic.Int64 // pages

	mu     sync.Mutex
	fresh  []byte   // the untouched rest of the newest chunk
	free   []*page  // given back; the system has their memory
	chunks [][]byte // mapped, for close
	closed bool
}

// alloc returns an empty page.
func (a *arena) alloc() *page {
	a.inUse.Add(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := len(a.free) - 1; last >= 0 {
		p := a.free[last]
		a.free = a.free[:last]
		p.depth, p.used = 0, 0
		return p
	}
	if len(a.fresh) == 0 {
		a.fresh = a.chunk()
	}
	p := (*page)(unsafe.Pointer(unsafe.SliceData(a.fresh))) //nolint:gosec // a page has no pointers and fits in pageBytes
	a.fresh = a.fresh[pageBytes:]
	return p
}

// chunk falls back to the Go heap, which fails loudly, when the system refuses;
// so does a closed arena, since nobody would give its mappings back.
func (a *arena) chunk() []byte {
	if !a.closed {
		if chunk := mapChunk(chunkBytes); chunk != nil {
			a.chunks = append(a.chunks, chunk)
			return chunk
		}
	}
	return make([]byte, chunkBytes)
}

// release takes back a page that nothing refers to any more.
func (a *arena) release(p *page) {
	a.inUse.Add(-1)
	dropPage(unsafe.Slice((*byte)(unsafe.Pointer(p)), pageBytes)) //nolint:gosec // every page begins pageBytes of a chunk
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free = append(a.free, p)
}

// close gives all memory back. No page may be in use.
func (a *arena) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, chunk := range a.chunks {
		unmapChunk(chunk)
	}
	a.chunks, a.free, a.fresh, a.closed = nil, nil, nil, true
	a.inUse.Store(0)
}
