package feedback

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// upload is the body of a request, and whether its sender could not say what it
// wanted to. That is no fault of the service.
type upload struct {
	io.ReadCloser

	req    *http.Request
	read   int64 // bytes
	closed atomic.Bool
	broken atomic.Bool
}

// watch returns the request with a body that is watched, and that; nil if it
// cannot break. Bodies that can be read again are in memory.
func watch(req *http.Request) (*http.Request, *upload) {
	if req.Body == nil || req.Body == http.NoBody || req.GetBody != nil {
		return req, nil
	}
	u := &upload{ReadCloser: req.Body, req: req}
	watched := req.WithContext(req.Context())
	watched.Body = u
	return watched, u
}

func (u *upload) Read(b []byte) (int, error) {
	n, err := u.ReadCloser.Read(b)
	u.read += int64(n)
	// Who has given up the request closes the body, or what feeds it ends with the context.
	if u.breaks(err) && !u.closed.Load() && u.req.Context().Err() == nil {
		u.broken.Store(true)
	}
	return n, err
}

// breaks is true of a fault, and of another length than was promised.
func (u *upload) breaks(err error) bool {
	promised := u.req.ContentLength // 0 and -1: none was
	if errors.Is(err, io.EOF) {
		return promised > 0 && u.read != promised
	}
	return err != nil || promised > 0 && u.read > promised
}

func (u *upload) Close() error {
	u.closed.Store(true)
	return u.ReadCloser.Close()
}

// isBroken is false of no upload.
func (u *upload) isBroken() bool { return u != nil && u.broken.Load() }

// unsendable says whether no transport sends the request as it is.
func unsendable(req *http.Request) bool {
	if req.URL == nil || req.URL.Host == "" || req.Header == nil || req.Method != "" && !token(req.Method) {
		return true
	}
	for name, values := range req.Header {
		if !token(name) {
			return true
		}
		for _, value := range values {
			if strings.ContainsFunc(value, control) {
				return true
			}
		}
	}
	return false
}

// token says whether text is a name or a method in HTTP.
func token(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// control says whether r may not be in the value of a header.
func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
