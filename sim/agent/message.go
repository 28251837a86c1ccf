package agent

import (
	"errors"
	"fmt"
	"time"

	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/result"
)

// Protocol is the version of what monitors and agents say to each other.
const Protocol = 1

// DefaultPort is where agents listen.
const DefaultPort = "27900"

// MinToken is how long a token is at least.
const MinToken = 16

// ErrToken says that a token is missing, too short or wrong.
var ErrToken = errors.New("sim: invalid token of agents")

const (
	// beatPace is how often an agent says something, at least.
	beatPace = time.Second
	// patience is how long a request, an answer or a message may be on its way.
	patience = 10 * time.Second
	// maxSlots bounds the time series that a message can ask for.
	maxSlots = 1 << 22
)

// About is what an agent says of itself.
type About struct {
	Protocol  int      `json:"protocol"`
	Format    int      `json:"format"`
	Build     string   `json:"build"`
	Scenarios []string `json:"scenarios"`
}

// request asks for a job.
type request struct {
	ID  string     `json:"id"`
	Job engine.Job `json:"job"`
}

// The types of messages.
const (
	typeBeat     = "beat"     // the agent lives
	typeReady    = "ready"    // it waits for the start
	typeProgress = "progress" // what it has measured so far
	typeVisited  = "visited"  // its visitors have left
	typeDone     = "done"     // all that it has measured
	typeFailed   = "failed"   // it cannot do the job
)

// message is a line of a job's stream.
type message struct {
	Type string `json:"type"`
	// Parts and CPUSeconds are what was measured so far, in progress and done.
	Parts      []part  `json:"parts,omitempty"`
	CPUSeconds float64 `json:"cpuSeconds,omitempty"`
	// Ended says why the job is done before its time.
	Ended string `json:"ended,omitempty"`
	Error string `json:"error,omitempty"`
}

// part is what was measured of a part: all but the series, of which Slots has what has changed since the message before.
type part struct {
	Measured *result.Measured     `json:"measured"`
	Slots    map[int]*result.Slot `json:"slots,omitempty"`
}

// pack makes the parts of a message. Sent is what those before it had of the series, and is brought up to date.
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

// unpack makes of a message, and of what those before it had, what was measured so far. It changes none of them.
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
