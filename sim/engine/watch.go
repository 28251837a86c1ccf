package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/sim/result"
)

// watchPace is the time between two samples of the server's counters.
const watchPace = time.Second

var errEnded = errors.New("sim: the load has ended")

// watch samples the server's counters during the load. It ends the load if the server does not
// answer.
type watch struct {
	*running
	ctx    context.Context // ends with the load, or if the server does not answer for too long
	cancel context.CancelCauseFunc
	done   sync.WaitGroup

	began   time.Time
	first   *status
	last    *status
	at      time.Time
	samples []result.ServerSample
}

// status holds the counters of a server at one moment.
type status struct {
	counters    map[string]int64
	cpuSeconds  float64
	resident    int64
	connections int64
}

func (r *running) watch(ctx context.Context) *watch {
	w := &watch{running: r, began: r.Clock.Now()}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.first, _ = r.status(ctx)
	w.last, w.at = w.first, w.began
	w.done.Go(w.look)
	return w
}

// look takes a sample every watchPace until the load ends. If the server does not answer for the
// time Silence, it ends the load.
func (w *watch) look() {
	answered := w.began
	for w.Clock.Sleep(w.ctx, min(watchPace, w.Silence)) == nil {
		now, err := w.status(w.ctx)
		at := w.Clock.Now()
		if err == nil {
			answered = at
			w.sample(now, at)
		} else if silent := at.Sub(answered); silent >= w.Silence && w.ctx.Err() == nil {
			w.cancel(fmt.Errorf("the server has not answered for %.0f s: %w", silent.Seconds(), err))
		}
	}
}

func (w *watch) sample(now *status, at time.Time) {
	s := result.ServerSample{
		Second: at.Sub(w.began).Seconds(), Rates: map[string]float64{},
		ResidentBytes: now.resident, Connections: now.connections,
	}
	if dt := at.Sub(w.at).Seconds(); w.last != nil && dt > 0 {
		for name, n := range now.counters {
			s.Rates[name] = float64(n-w.last.counters[name]) / dt
		}
		s.CPU = max(0, now.cpuSeconds-w.last.cpuSeconds) / dt
	}
	w.last, w.at = now, at
	w.samples = append(w.samples, s)
}

// end ends the watch and returns the counters over the load. It returns nil if the server has no
// counters.
func (w *watch) end() *result.Server {
	last, err := w.status(context.WithoutCancel(w.ctx))
	w.cancel(errEnded)
	w.done.Wait()
	if err != nil {
		last = w.last
	}
	if w.first == nil || last == nil {
		return nil
	}
	out := &result.Server{
		Deltas: map[string]int64{}, Samples: w.samples,
		CPUSeconds: max(0, last.cpuSeconds-w.first.cpuSeconds),
	}
	for name, n := range last.counters {
		out.Deltas[name] = n - w.first.counters[name]
	}
	return out
}

// status asks the server for its counters.
func (r *running) status(ctx context.Context) (*status, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Silence)
	defer cancel()
	var doc struct {
		Opcounters map[string]any `bson:"opcounters"`
		Network    map[string]any `bson:"network"`
		Metrics    struct {
			Document map[string]any `bson:"document"`
		} `bson:"metrics"`
		Mem struct {
			Resident float64 `bson:"resident"` // in MiB
		} `bson:"mem"`
		Connections struct {
			Current int64 `bson:"current"`
		} `bson:"connections"`
		Extra struct {
			User   float64 `bson:"user_time_us"`
			System float64 `bson:"system_time_us"`
		} `bson:"extra_info"`
	}
	if err := r.watcher.Database("admin").
		RunCommand(ctx, bson.D{{"serverStatus", 1}}).Decode(&doc); err != nil {
		return nil, err
	}
	s := &status{
		counters: map[string]int64{}, cpuSeconds: (doc.Extra.User + doc.Extra.System) / 1e6,
		resident: int64(doc.Mem.Resident * (1 << 20)), connections: doc.Connections.Current,
	}
	for group, values := range map[string]map[string]any{
		"opcounters": doc.Opcounters, "network": doc.Network,
		"document": doc.Metrics.Document,
	} {
		for name, value := range values {
			if n, ok := whole(value); ok {
				s.counters[group+"."+name] = n
			}
		}
	}
	return s, nil
}

func whole(value any) (int64, bool) {
	switch n := value.(type) {
	case int32:
		return int64(n), true
	case int64:
		return n, true
	case float64:
		return int64(n), true
	default:
		return 0, false
	}
}
