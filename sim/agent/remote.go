package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/result"
)

// errSilent is the cause of the loss of an agent that sent nothing for too long.
var errSilent = errors.New("it was silent")

// remote is an agent as its monitor sees it.
type remote struct {
	f       *Fleet
	number  int
	address string
	client  *http.Client

	id     string // the ID of the job
	ctx    context.Context
	cancel context.CancelCauseFunc

	// Only the loop of the drive uses the fields from here on.
	state    state
	measured []*result.Measured
	heard    time.Duration // when measured was received
	cpu      float64
	lost     string
}

// state is the progress of an agent.
type state int

const (
	preparing state = iota
	waiting         // waits for the start
	running
	visited // its visitors have left
	ended   // done, or lost
)

// event is a message of an agent, or the end of its stream.
type event struct {
	from *remote
	said message
	err  error
}

// at returns the URL of a path.
func (r *remote) at(path string) string {
	host := r.address
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(host, DefaultPort)
	}
	return "http://" + host + path
}

// do sends a request. A reply that refuses the request is an error.
func (r *remote) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var text bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			return nil, err
		}
	}
	q, err := http.NewRequestWithContext(ctx, method, r.at(path), &text)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Authorization", "Bearer "+r.f.Token)
	a, err := r.client.Do(q)
	if err != nil {
		return nil, err
	}
	if a.StatusCode < 300 {
		return a, nil
	}
	defer func() { _ = a.Body.Close() }() // the body was only read
	why := refusal{}
	if err := json.NewDecoder(io.LimitReader(a.Body, maxHeader)).Decode(&why); err != nil || why.Error == "" {
		why.Error = "it is not an agent, or has another version"
	}
	if a.StatusCode == http.StatusUnauthorized {
		return nil, fmt.Errorf("%w: %s", ErrToken, why.Error)
	}
	return nil, fmt.Errorf("it answers %s: %s", a.Status, why.Error)
}

// about asks the agent for its description.
func (r *remote) about(ctx context.Context) (out About, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a, err := r.do(ctx, http.MethodGet, "/v1/about", nil)
	if err != nil {
		return out, err
	}
	defer func() { _ = a.Body.Close() }() // the body was only read
	if err := json.NewDecoder(io.LimitReader(a.Body, maxBody)).Decode(&out); err != nil {
		return out, fmt.Errorf("it is not an agent: %w", err)
	}
	return out, nil
}

// control sends the agent the command to start, leave or stop.
func (r *remote) control(what string) error {
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	a, err := r.do(ctx, http.MethodPost, "/v1/job/"+r.id+"/"+what, nil)
	if err != nil {
		return err
	}
	return a.Body.Close()
}

// run starts the job on the agent. It passes each message to tell, until the agent has ended or is
// silent for too long.
func (r *remote) run(job engine.Job, tell func(event)) {
	alarm := time.AfterFunc(r.f.silence(), func() { r.cancel(fmt.Errorf("%w for %v", errSilent, r.f.silence())) })
	defer alarm.Stop()
	a, err := r.do(r.ctx, http.MethodPost, "/v1/job", request{ID: r.id, Job: job})
	if err != nil {
		tell(event{from: r, err: r.why(err)})
		return
	}
	defer func() { _ = a.Body.Close() }() // the body was only read
	for in := json.NewDecoder(a.Body); ; {
		said := message{}
		if err := in.Decode(&said); err != nil {
			tell(event{from: r, err: r.why(fmt.Errorf("the connection broke: %w", err))})
			return
		}
		alarm.Reset(r.f.silence())
		tell(event{from: r, said: said})
		if said.Type == typeDone || said.Type == typeFailed {
			return
		}
	}
}

// why returns the cause for which the monitor gave up the agent, or else err.
func (r *remote) why(err error) error {
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	return err
}
