// Package loop closes the loop of an adaptive rule for real: callers that send more
// than the service bears, the real Envoy, rls, and a service that becomes slower
// while they run. It records second by second what the callers get.
package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/eb50146d/rls/test/proc"
)

// Scene is a service and its callers.
type Scene struct {
	Workers  int
	Service  time.Duration // mean of a request at full speed
	Offered  float64       // requests a second
	Deadline time.Duration // of a request
}

// Bears is how many requests a second the service answers at full speed.
func (s Scene) Bears() float64 { return float64(s.Workers) / s.Service.Seconds() }

// Slow is the speed after a drop by 60 %.
const Slow = 0.4

// Kind is who limits the requests.
type Kind int

// The kinds.
const (
	Adaptive    Kind = iota + 1 // an adaptive rule of rls, fed by Envoy's access log
	Static                      // a rule of rls with the limit at which the adaptive rule starts
	Concurrency                 // Envoy's own adaptive concurrency filter
	Blind                       // Adaptive without the access log
)

func (k Kind) String() string {
	return [...]string{"", "adaptive rule", "static rule", "Envoy's adaptive concurrency", "adaptive rule without reports"}[k]
}

// staticLimit is the limit in ../rules/static.yaml.
const staticLimit = 160

// Programs are what a Bed starts.
type Programs struct {
	Root       string // folder of the module
	RLS, Envoy string // paths
	Ports      *proc.Ports
}

// Bed is a service, Envoy and rls before it, and callers.
type Bed struct {
	Upstream *Upstream
	Envoy    *proc.Envoy
	RLS      *proc.RLS // nil of Concurrency

	kind   Kind
	scene  Scene
	now    func() time.Time
	record *record
	end    context.CancelFunc
	ended  sync.WaitGroup
	err    error // of watch; read when it has ended
}

// Start starts everything. Stop ends it.
func Start(ctx context.Context, p Programs, s Scene, k Kind, now func() time.Time) (*Bed, error) {
	b := &Bed{kind: k, scene: s, now: now, end: func() {}, Upstream: NewUpstream(s.Workers, s.Service)}
	if err := b.start(ctx, p); err != nil {
		return nil, errors.Join(fmt.Errorf("%v: %w", k, err), b.Stop())
	}
	ctx, b.end = context.WithCancel(ctx)
	b.record = &record{start: now()}
	callers := newLoad("http://"+proc.Loopback(b.Envoy.Listener)+"/", s, now, b.record)
	b.ended.Go(func() { callers.run(ctx) })
	b.ended.Go(func() { b.err = b.watch(ctx) })
	return b, nil
}

func (b *Bed) start(ctx context.Context, p Programs) error {
	port, err := b.startRLS(ctx, p)
	if err != nil {
		return err
	}
	shipped, err := os.ReadFile(filepath.Join(p.Root, "envoy", "adaptive.yaml"))
	if err != nil {
		return err
	}
	config, err := configure(string(shipped), b.kind, b.scene.Deadline)
	if err != nil {
		return err
	}
	b.Envoy, err = proc.StartEnvoy(ctx, p.Envoy, p.Ports, config, port, b.Upstream.Port())
	return err
}

// startRLS returns the port of rls, or one where nobody listens.
func (b *Bed) startRLS(ctx context.Context, p Programs) (int, error) {
	if b.kind == Concurrency {
		return p.Ports.Take(ctx)
	}
	rules := filepath.Join(p.Root, "config", "examples", "adaptive.yaml")
	if b.kind == Static {
		rules = filepath.Join(p.Root, "test", "demo-adaptive", "rules", "static.yaml")
	}
	var err error
	if b.RLS, err = proc.StartRLS(ctx, p.RLS, p.Ports, rules); err != nil {
		return 0, err
	}
	return b.RLS.GRPC, nil
}

// Stop ends everything, and tells what went wrong meanwhile.
func (b *Bed) Stop() error {
	b.end()
	b.ended.Wait()
	err := b.err
	if b.Envoy != nil {
		b.Envoy.Stop() //nolint:errcheck // how Envoy ends does not matter
	}
	if b.RLS != nil {
		err = errors.Join(err, b.RLS.Stop())
	}
	b.Upstream.Close()
	return err
}

// watch notes once a second where the limit is.
func (b *Bed) watch(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		at := b.now()
		s, err := b.standing(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		b.record.standing(at, b.Upstream.Capacity(), s)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (b *Bed) standing(ctx context.Context) (standing, error) {
	switch b.kind {
	case Static:
		return standing{limit: staticLimit}, nil
	case Concurrency:
		return envoyStanding(ctx, b.Envoy)
	default:
		return rlsStanding(ctx, b.RLS, "search")
	}
}

// Elapsed is the time since the callers began.
func (b *Bed) Elapsed() time.Duration { return b.now().Sub(b.record.start) }

// Seconds are the seconds all of whose requests have ended.
func (b *Bed) Seconds() []Second {
	return b.record.first(max(0, int((b.Elapsed()-2*b.scene.Deadline)/time.Second)))
}

// Limit is the limit that was in force when the present second began.
func (b *Bed) Limit() float64 { return b.record.last() }
