package codec

// Size is the number of bytes that r is expected to take.
func Size(r *Response) int { return r.size() }
