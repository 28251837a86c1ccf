package agent

import (
	"errors"
	"fmt"
	"time"

	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/result"
)

// Protocol is the version of the protocol between monitors and agents.
const Protocol = 1

// DefaultPort is the port on which agents listen.
const DefaultPort = "27900"

// MinToken is the minimum length of a token.
const MinToken = 16

// ErrToken is returned if a token is missing, too short or wrong.
var ErrToken = errors.New("sim: invalid token of agents")

const (
	// beatPace is the longest time between two messages of an agent.
	beatPace = time.Second
	// patience is the longest time for sending a request, an answer or a message.
	patience = 10 * time.Second
	// maxSlots is the greatest number of slots in the time series of a message.
	maxSlots = 1 << 22
)

// About describes an agent.
type About struct {
	Protocol  int      `json:"protocol"`
	Format    int      `json:"format"`
	Build     string   `json:"build"`
	Scenarios []string `json:"scenarios"`
}

// request asks an agent to execute a job.
type request struct {
	ID  string     `json:"id"`
	Job engine.Job `json:"job"`
}

// The types of messages.
const (
	typeBeat     = "beat"     // a sign of life, without measurements
	typeReady    = "ready"    // the agent waits for the start
	typeProgress = "progress" // the measurements so far
	typeVisited  = "visited"  // the agent's visitors have left
	typeDone     = "done"     // all measurements
	typeFailed   = "failed"   // the agent cannot execute the job
)

// message is a line of a job's stream.
type message struct {
	Type string `json:"type"`
	// Parts and CPUSeconds are the measurements so far. Only messages of the types progress and
	// done have them.
	Parts      []part  `json:"parts,omitempty"`
	CPUSeconds float64 `json:"cpuSeconds,omitempty"`
	// Ended says why the job ended early.
	Ended string `json:"ended,omitempty"`
	Error string `json:"error,omitempty"`
}

// part holds the measurements of one part of a job. Its series is not complete: Slots has only the
// slots that changed since the preceding message.
type part struct {
	Measured *result.Measured     `json:"measured"`
	Slots    map[int]*result.Slot `json:"slots,omitempty"`
}

// pack returns the measurements as the parts of a message, without unchanged slots. sent holds the
// slots that earlier messages sent; pack updates it.
func pack(measured []*result.Measured, sent [][]*result.Slot) []part {
	out := make([]part, len(measured))
	for i, m := range measured {
		whole := *m
		whole.Series = nil
		out[i] = part{Measured: &whole, Slots: map[int]*result.Slot{}}
		for j, slot := range m.Series {
			if j >= len(sent[i]) {
				sent[i] = append(sent[i], nil)
			}
			if sent[i][j] == nil || !slot.Same(sent[i][j]) {
				sent[i][j] = slot
				out[i].Slots[j] = slot
			}
		}
	}
	return out
}

// unpack combines a message with the measurements of the earlier messages, and returns all
// measurements so far. It changes none of its arguments.
func unpack(parts []part, before []*result.Measured) ([]*result.Measured, error) {
	if len(parts) != len(before) {
		return nil, fmt.Errorf("a message has %d parts, not %d", len(parts), len(before))
	}
	out := make([]*result.Measured, len(parts))
	for i, p := range parts {
		m := result.NewMeasured()
		if p.Measured != nil {
			m.Merge(p.Measured)
		}
		m.Series = append([]*result.Slot(nil), before[i].Series...)
		for j, slot := range p.Slots {
			if j < 0 || j >= maxSlots || slot == nil {
				return nil, fmt.Errorf("a message has slot %d", j)
			}
			if slot.Latency == nil {
				return nil, fmt.Errorf("slot %d of a message has no latency", j)
			}
			m.Slot(j)
			m.Series[j] = slot
		}
		out[i] = m
	}
	return out, nil
}
