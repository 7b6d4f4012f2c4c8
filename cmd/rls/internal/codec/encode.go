package codec

import (
	"fmt"
	"time"

	"google.golang.org/grpc/mem"
)

// small holds a usual answer and the slice that carries it to gRPC in one
// allocation of 256 bytes.
type small struct {
	out  [1]mem.Buffer
	data [240]byte
}

func (r *Response) marshal() (mem.BufferSlice, error) {
	if r.Code != OK && r.Code != OverLimit {
		return nil, fmt.Errorf("encoding RateLimitResponse: code is %d, must be %d or %d", r.Code, OK, OverLimit)
	}
	size := r.size()
	if size <= len(small{}.data) {
		s := new(small)
		s.out[0] = mem.SliceBuffer(r.append(s.data[:0]))
		return s.out[:], nil
	}
	if mem.IsBelowBufferPoolingThreshold(size) { // gRPC would not put it back
		return mem.BufferSlice{mem.SliceBuffer(r.append(make([]byte, 0, size)))}, nil
	}
	pool := mem.DefaultBufferPool()
	buf := pool.Get(size)
	*buf = r.append((*buf)[:0])
	return mem.BufferSlice{mem.NewBuffer(buf, pool)}, nil
}

func (r *Response) size() int {
	n := uintSize(wire(int64(r.Code)))
	for i := range r.Statuses {
		n += bytesSize(r.Statuses[i].size())
	}
	for i := range r.ResponseHeaders {
		n += bytesSize(r.ResponseHeaders[i].size())
	}
	for i := range r.RequestHeaders {
		n += bytesSize(r.RequestHeaders[i].size())
	}
	if len(r.RawBody) > 0 {
		n += bytesSize(len(r.RawBody))
	}
	if m := r.metadataSize(); m > 0 {
		n += bytesSize(m)
	}
	return n
}

func (r *Response) append(b []byte) []byte {
	b = appendUint(b, 1, wire(int64(r.Code)))
	for i := range r.Statuses {
		s := &r.Statuses[i]
		b = s.append(appendLength(b, 2, s.size()))
	}
	for i := range r.ResponseHeaders {
		h := &r.ResponseHeaders[i]
		b = h.append(appendLength(b, 3, h.size()))
	}
	for i := range r.RequestHeaders {
		h := &r.RequestHeaders[i]
		b = h.append(appendLength(b, 4, h.size()))
	}
	if len(r.RawBody) > 0 {
		b = append(appendLength(b, 5, len(r.RawBody)), r.RawBody...)
	}
	if m := r.metadataSize(); m > 0 {
		b = r.appendMetadata(appendLength(b, 6, m))
	}
	return b
}

func (s *Status) size() int {
	n := uintSize(wire(int64(s.Code))) + uintSize(uint64(s.Remaining))
	if s.HasLimit {
		n += bytesSize(s.Limit.size())
	}
	if s.HasReset {
		n += bytesSize(durationSize(s.Reset))
	}
	return n
}

func (s *Status) append(b []byte) []byte {
	b = appendUint(b, 1, wire(int64(s.Code)))
	if s.HasLimit {
		b = s.Limit.append(appendLength(b, 2, s.Limit.size()))
	}
	b = appendUint(b, 3, uint64(s.Remaining))
	if s.HasReset {
		b = appendDuration(appendLength(b, 4, durationSize(s.Reset)), s.Reset)
	}
	return b
}

func (l *Limit) size() int {
	n := uintSize(uint64(l.RequestsPerUnit)) + uintSize(wire(int64(l.Unit))) + textSize(l.Name)
	if l.UnitMultiplier != 0 {
		n += bytesSize(uintSize(uint64(l.UnitMultiplier)))
	}
	return n
}

func (l *Limit) append(b []byte) []byte {
	b = appendUint(b, 1, uint64(l.RequestsPerUnit))
	b = appendUint(b, 2, wire(int64(l.Unit)))
	b = appendText(b, 3, l.Name)
	if l.UnitMultiplier != 0 {
		m := uint64(l.UnitMultiplier)
		b = appendUint(appendLength(b, 4, uintSize(m)), 1, m)
	}
	return b
}

func (h *Header) size() int { return textSize(h.Key) + textSize(h.Value) }

func (h *Header) append(b []byte) []byte {
	return appendText(appendText(b, 1, h.Key), 2, h.Value)
}

func durationSize(d time.Duration) int {
	return uintSize(wire(int64(d/time.Second))) + uintSize(wire(int64(d%time.Second)))
}

func appendDuration(b []byte, d time.Duration) []byte {
	b = appendUint(b, 1, wire(int64(d/time.Second)))
	return appendUint(b, 2, wire(int64(d%time.Second)))
}

// A Struct's field is a map entry of the key and a Value, whose string is its
// field 3. Empty strings are written in both, as the standard encoder does.

func (r *Response) metadataSize() int {
	n := len(r.MoreMetadata)
	for i := range r.DynamicMetadata {
		n += bytesSize(r.DynamicMetadata[i].size())
	}
	return n
}

func (r *Response) appendMetadata(b []byte) []byte {
	for i := range r.DynamicMetadata {
		f := &r.DynamicMetadata[i]
		b = f.append(appendLength(b, 1, f.size()))
	}
	return append(b, r.MoreMetadata...)
}

func (f *StringField) size() int {
	return bytesSize(len(valid(f.Key))) + bytesSize(bytesSize(len(valid(f.Value))))
}

func (f *StringField) append(b []byte) []byte {
	key, value := valid(f.Key), valid(f.Value)
	b = append(appendLength(b, 1, len(key)), key...)
	b = appendLength(b, 2, bytesSize(len(value)))
	return append(appendLength(b, 3, len(value)), value...)
}
