package feedback

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
)

// StreamClientInterceptor observes streams by their first answer: the time to it
// from the last message sent before it. What follows is not seen. Streams that wait
// for events rather than for the service have no such latency: leave them out.
func (c *Client) StreamClientInterceptor() grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		if spent(ctx) { // nothing is sent
			return open(ctx, desc, cc, method, opts...)
		}
		s := &stream{c: c}
		start := c.begin()
		s.asked.Store(int64(start.Sub(c.epoch)))
		o := skipped // by a panic
		defer func() {
			if s.ClientStream == nil {
				s.end(o)
			}
		}()
		next, err := open(ctx, desc, cc, method, opts...)
		if err != nil {
			o = c.notSent(start, err)
			return nil, err
		}
		s.ClientStream = next
		// A caller may end the context and not look at the stream again.
		s.unwatch = context.AfterFunc(ctx, func() { s.end(c.over(ctx, s.start())) })
		return s, nil
	}
}

// notSent is the outcome of a stream whose opening or whose message failed at our
// side.
func (c *Client) notSent(start time.Time, err error) outcome {
	if (&answer{}).unsent(err) {
		return skipped
	}
	return c.called(start, err, nil)
}

type stream struct {
	grpc.ClientStream

	c       *Client
	asked   atomic.Int64 // since the epoch, when the last message was sent
	ended   atomic.Bool
	unwatch func() bool
}

func (s *stream) start() time.Time { return s.c.epoch.Add(time.Duration(s.asked.Load())) }

// end counts the stream, once.
func (s *stream) end(o outcome) {
	if s.ended.CompareAndSwap(false, true) {
		s.c.end(s.start(), o)
	}
}

func (s *stream) SendMsg(m any) error {
	s.asked.Store(int64(now().Sub(s.c.epoch)))
	err := s.ClientStream.SendMsg(m)
	if err != nil && !errors.Is(err, io.EOF) { // EOF: RecvMsg has the reason
		s.unwatch()
		s.end(s.c.notSent(s.start(), err))
	}
	return err
}

func (s *stream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if s.ended.Load() {
		return err
	}
	s.unwatch()
	switch {
	case err == nil, errors.Is(err, io.EOF):
		s.end(served)
	default:
		s.end(s.c.called(s.start(), err, s.Trailer()))
	}
	return err
}
