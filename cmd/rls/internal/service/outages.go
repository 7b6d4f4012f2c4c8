package service

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// retellOutage is how long the log is silent about a store that does not decide
// after a line.
const retellOutage = 5 * time.Second

// outages are the requests that the store did not decide, of which the log tells.
type outages struct {
	log    *zap.Logger
	next   atomic.Int64 // ns since the epoch, when the next line may come
	silent atomic.Uint64
}

// saw logs why the store did not decide a request, unless that was done just before.
func (o *outages) saw(e *Evaluation, now time.Time) {
	err := e.fault()
	if err == nil {
		return
	}
	next := o.next.Load()
	if now.UnixNano() < next || !o.next.CompareAndSwap(next, now.Add(retellOutage).UnixNano()) {
		o.silent.Add(1)
		return
	}
	o.log.Warn("the store did not decide, on_error of the rules does", zap.Error(err), zap.Uint64("requests_before", o.silent.Swap(0)))
}

// fault is why the store did not decide one of the request's rules; nil if it did.
func (e *Evaluation) fault() error {
	for i := range e.answers {
		if err := e.answers[i].Err; err != nil {
			return err
		}
	}
	return nil
}
