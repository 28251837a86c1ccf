package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/result"
)

// errStopped is the cause of the end of a job that its monitor has stopped.
var errStopped = errors.New("the monitor has stopped it")

// job is a job that an agent executes.
type job struct {
	*server
	id     string
	job    engine.Job
	ctx    context.Context // ends with the connection or with Serve, or if the monitor stops the job
	cancel context.CancelCauseFunc
	// starts ends when the monitor sends the command start, leaves when it sends the command leave.
	starts, leaves context.Context
	started, left  context.CancelFunc

	mu       sync.Mutex
	to       *json.Encoder
	stream   *http.ResponseController
	sent     [][]*result.Slot
	reported time.Duration
	before   float64 // the processor time of the process at the start of the job, in seconds
}

func newJob(s *server, w http.ResponseWriter, r *http.Request, in request) *job {
	j := &job{
		server: s, id: in.ID, job: in.Job, to: json.NewEncoder(w), stream: http.NewResponseController(w),
		sent: make([][]*result.Slot, len(in.Job.Parts)),
	}
	j.ctx, j.cancel = context.WithCancelCause(r.Context())
	j.starts, j.started = context.WithCancel(context.Background())
	j.leaves, j.left = context.WithCancel(context.Background())
	return j
}

// run executes the job, and returns in words how it ended, for the log of the agent.
func (j *job) run() (how string) {
	defer j.started()
	defer j.left()
	j.before = engine.CPUSeconds()
	beats, quiet := context.WithCancel(j.ctx)
	var beating sync.WaitGroup
	_ = j.stream.SetReadDeadline(time.Time{}) // otherwise the deadline of the request would end the stream
	j.send(message{Type: typeBeat})           // the job is accepted
	beating.Go(func() {
		for j.Env.Clock.Sleep(beats, beatPace) == nil {
			j.send(message{Type: typeBeat})
		}
	})
	last := j.drive()
	quiet()
	beating.Wait()
	j.send(last)
	switch {
	case last.Error != "":
		return last.Error
	case j.ctx.Err() != nil:
		return context.Cause(j.ctx).Error()
	}
	j.cancel(nil)
	return "done"
}

// drive runs the load, and returns the last message for the monitor.
func (j *job) drive() message {
	client, disconnect, err := j.job.Settings.Connect(j.ctx)
	if err != nil {
		return message{Type: typeFailed, Error: err.Error()}
	}
	local := &engine.Local{Set: j.Set, Clock: j.Env.Clock, Env: j.Env, Ready: j.ready, Stay: j.stay}
	driven, err := local.Drive(j.ctx, client, j.job, j.report)
	if err := errors.Join(err, disconnect()); err != nil && j.ctx.Err() == nil {
		return message{Type: typeFailed, Error: err.Error()}
	}
	if driven.Parts == nil { // the load has not begun
		for range j.job.Parts {
			driven.Parts = append(driven.Parts, result.NewMeasured())
		}
	}
	out := message{Type: typeDone, Parts: pack(driven.Parts, j.sent), CPUSeconds: driven.CPUSeconds}
	if j.server.ctx.Err() != nil {
		out.Ended = "it was ended on its own machine"
	}
	return out
}

// ready tells the monitor that everything is prepared, and waits for the start.
func (j *job) ready(ctx context.Context) error {
	j.send(message{Type: typeReady})
	select {
	case <-j.starts.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stay tells the monitor that the visitors of this agent have left, and waits for the visitors of
// the other agents.
func (j *job) stay(ctx context.Context) {
	j.send(message{Type: typeVisited})
	select {
	case <-j.leaves.Done():
	case <-ctx.Done():
	}
}

// report sends the measurements so far, at most once a second.
func (j *job) report(p load.Progress) {
	if p.Elapsed-j.reported < beatPace {
		return
	}
	j.reported = p.Elapsed
	j.send(message{Type: typeProgress, Parts: pack(p.Snapshot(), j.sent), CPUSeconds: engine.CPUSeconds() - j.before})
}

// send sends a message. If that fails, the monitor is gone, and the job ends.
func (j *job) send(m message) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.stream.SetWriteDeadline(patterns.SystemClock{}.Now().Add(patience))
	if err == nil {
		err = errors.Join(j.to.Encode(m), j.stream.Flush())
	}
	if err != nil {
		j.cancel(fmt.Errorf("the monitor cannot be told: %w", err))
	}
}
