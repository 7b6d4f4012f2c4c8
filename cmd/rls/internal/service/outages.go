package service

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/eb50146d/rls/pkg/backend"
)

// retellOutage is how long the log is silent about a store that does not decide
// after a line.
const retellOutage = 5 * time.Second

// calm is how long the store has to decide everything before an outage is over.
const calm = time.Second

// outages are the requests that the store did not decide, of which the log tells.
type outages struct {
	log    *zap.Logger
	next   atomic.Int64 // ns since the epoch, when the next line may come
	silent atomic.Uint64
	told   atomic.Bool  // the last line is of an outage
	last   atomic.Int64 // ns since the epoch, of the last such request
}

// saw logs why the store did not decide a request, unless that was done just
// before, and once that it decides again.
func (o *outages) saw(e *Evaluation, now time.Time) {
	err := e.fault()
	if err == nil {
		if o.told.Load() && e.stored() && now.UnixNano()-o.last.Load() >= int64(calm) && o.told.CompareAndSwap(true, false) {
			o.log.Info("the store decides again", zap.Uint64("requests_before", o.silent.Swap(0)))
		}
		return
	}
	o.last.Store(now.UnixNano())
	next := o.next.Load()
	if now.UnixNano() < next || !o.next.CompareAndSwap(next, now.Add(retellOutage).UnixNano()) {
		o.silent.Add(1)
		return
	}
	o.told.Store(true)
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

// stored says whether the store decided one of the request's rules.
func (e *Evaluation) stored() bool {
	for i := range e.answers {
		if e.answers[i].Source == backend.FromStore {
			return true
		}
	}
	return false
}
